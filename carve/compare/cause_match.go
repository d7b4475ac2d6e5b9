package compare

import (
	"cmp"
	"fmt"
	"slices"

	"whittle"
	"whittle/carve/compare/digest"
)

// shareOthers lets both orders ask whose a value is.
func (j *Judge) shareOthers() {
	for _, s := range []*series{j.mirrored, j.served} {
		if m, ok := s.method.(*match); ok {
			m.others = &j.others
		}
	}
}

// explained counts which causes fit what the present exchange shows at a mark.
func (m *match) explained(k *mark, d *difference, x *whittle.Exchange) {
	if k.key.path == manyPaths || !k.why.wants() {
		return
	}
	keys := m.differ.causes(d, x.Monolith.Body, x.Candidate.Body)
	from, to := m.differ.values(d, x.Monolith.Body, x.Candidate.Body)
	if kind, ok := kindOf(to); ok && kind != kindArray && kind != kindObject && from != nil && m.kind == whittle.FoundField {
		keys = append(keys, fmt.Sprintf("same value:%x", hashOf(to)))
	}
	pair := hashOf(from) ^ digest.Stir(hashOf(to))
	if m.others == nil {
		k.why.add(keys, pair)
		return
	}
	is, w := m.others.whose(x, to, m.kind == whittle.FoundField)
	if key := ownerKeys[is]; key != "" {
		keys = append(keys, key)
	}
	set := k.why.add(keys, pair)
	if w != nil {
		k.why.await(set, w)
	}
}

// whose says whom the candidate's body, or else its value at one place, belongs to.
// Where nobody got it yet, w says later.
func (o *others) whose(x *whittle.Exchange, value []byte, inJSON bool) (is owner, w *wish) {
	by := askerOf(x)
	w = &wish{by: by, at: x.At}
	waits := false
	if body := x.Candidate.Body; len(body) >= leastBody && o.bodies.telling() {
		if is, _ = o.find(x, body); is != noOwner {
			return is, nil
		}
		o.await(w, o.bodyKey(body))
		waits = true
	}
	if kind, ok := kindOf(value); inJSON && ok && distinctive(kind, value) && o.values.telling() {
		if is, _ = o.findValue(by, x.At, value); is != noOwner {
			return is, nil
		}
		o.await(w, hashOf(value))
		waits = true
	}
	if !waits {
		return noOwner, nil
	}
	return noOwner, w
}

// values implements differ. It holds until the next comparison.
func (j *jsonDiffer) values(d *difference, monolith, candidate []byte) (from, to []byte) {
	if d.nodes == noNodes {
		return monolith, candidate
	}
	if d.nodes[0] != none {
		from = j.a.text(uint32(d.nodes[0]))
	}
	if d.nodes[1] != none {
		to = j.b.text(uint32(d.nodes[1]))
	}
	return from, to
}

// values implements differ.
func (e *exact) values(_ *difference, monolith, candidate []byte) (from, to []byte) {
	return monolith, candidate
}

// orderFindings puts first what is shown and not declared, then what is suspected,
// then what is declared; among these what touches the most requests, so that a
// small effect with a known cause hides no larger one.
func orderFindings(list []whittle.Finding) {
	slices.SortStableFunc(list, func(a, b whittle.Finding) int {
		return cmp.Or(standing(&a)-standing(&b), cmp.Compare(b.Count, a.Count))
	})
}

func standing(f *whittle.Finding) int {
	switch {
	case f.Expected != "":
		return 2
	case f.Decided:
		return 0
	}
	return 1
}
