package compare

import (
	"fmt"

	"whittle"
	"whittle/carve/compare/cause"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/carve/compare/owner"
)

// explained counts which causes fit what the present exchange shows at a mark.
func (m *match) explained(k *mark, d *jsondiff.Difference, x *whittle.Exchange) {
	if k.Path == jsondiff.ManyPaths || !k.why.Wants() {
		return
	}
	keys := cause.Of(m.differ, d, x.Monolith.Body, x.Candidate.Body)
	from, to := m.differ.Values(d, x.Monolith.Body, x.Candidate.Body)
	if k.learnable() && k.How == jsondiff.HowValue {
		k.ownValues.see(from, to, requestHash(&x.Request))
	}
	if kind, ok := jsondoc.KindOf(to); ok && kind != jsondoc.Array && kind != jsondoc.Object && from != nil && m.kind == whittle.FoundField {
		keys = append(keys, fmt.Sprintf("same value:%x", owner.Hash(to)))
	}
	pair := owner.Hash(from) ^ digest.Stir(owner.Hash(to))
	if m.others == nil {
		k.why.Add(keys, pair)
		return
	}
	is, w := m.others.Whose(x, to, m.kind == whittle.FoundField)
	if key := cause.OfOwner(is); key != "" {
		keys = append(keys, key)
	}
	set := k.why.Add(keys, pair)
	if w != nil {
		k.why.Await(set, w)
	}
}
