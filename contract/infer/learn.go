package infer

import (
	"iter"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/record/capture"
)

// maxRounds bounds how often a contract is inferred again without the bodies
// that did not come back the same.
const maxRounds = 4

// Learn infers a contract and proves it by the same exchanges; open returns
// them from the start each time. The fields of a body that does not come back
// the same are not inferred any more, and the guesses say so. The proof is that
// of the returned contract. It may contain breaks, where the exchanges changed
// between two readings or where a path or a query does not come back the same.
func Learn(open func() iter.Seq2[*capture.Entry, error], o Options) (*contract.Contract, *verify.Proof, error) {
	o.opaque = map[string]bool{}
	for round := 1; ; round++ {
		c, err := Infer(open(), o)
		if err != nil {
			return nil, nil, err
		}
		p, err := verify.Check(route(open(), o.Route), c)
		if err != nil {
			return nil, nil, err
		}
		if !o.demote(p) || round == maxRounds {
			return c, p, nil
		}
	}
}

// demote adds the bodies that broke, and reports whether one is new.
func (o *Options) demote(p *verify.Proof) bool {
	found := false
	for _, b := range p.Broken {
		label, _, _ := strings.Cut(b.Path, " ")
		if k := b.Method + " " + label; !o.opaque[k] {
			o.opaque[k] = true
			found = true
		}
	}
	return found
}

// route narrows entries to one route. Empty: all.
func route(entries iter.Seq2[*capture.Entry, error], name string) iter.Seq2[*capture.Entry, error] {
	if name == "" {
		return entries
	}
	return func(yield func(*capture.Entry, error) bool) {
		for x, err := range entries {
			if err == nil && x.Route != name {
				continue
			}
			if !yield(x, err) {
				return
			}
		}
	}
}
