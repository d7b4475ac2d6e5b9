package compare

import (
	"fmt"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
)

// explained counts which causes fit what the present exchange shows at a mark.
func (m *match) explained(k *mark, d *jsondiff.Difference, x *whittle.Exchange) {
	if k.key.path == jsondiff.ManyPaths || !k.why.wants() {
		return
	}
	keys := causesOf(m.differ, d, x.Monolith.Body, x.Candidate.Body)
	from, to := m.differ.Values(d, x.Monolith.Body, x.Candidate.Body)
	if kind, ok := kindOf(to); ok && kind != jsondoc.Array && kind != jsondoc.Object && from != nil && m.kind == whittle.FoundField {
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
