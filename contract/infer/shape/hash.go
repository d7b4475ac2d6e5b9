package shape

import (
	"fmt"

	"whittle/contract/infer/document"
	"whittle/contract/infer/pattern"
)

// Scalars hashes what the strings and numbers at and below a place were, as far
// as that is kept.
func (s *Shape) Scalars() uint64 {
	h := Hash(fmt.Sprint(s.Number.N, s.Number.min, s.Number.max, s.Text.Shortest, s.Text.Longer))
	for w := range s.Text.Words {
		h += Mix(Hash(w))
	}
	if s.Element != nil {
		h += Mix(s.Element.Scalars() + 1)
	}
	for _, k := range s.Keys {
		h += Mix(Hash(k) + s.Fields[k].Scalars())
	}
	return Mix(h)
}

// NamesSeen hashes the names that at least a half of the objects have.
func (s *Shape) NamesSeen() uint64 {
	h := uint64(0)
	for _, k := range s.Keys {
		if 2*s.Fields[k].Seen >= s.Objects {
			h += Mix(Hash(k))
		}
	}
	return h
}

// Structure hashes what a value looks like: names and kinds; of an array which
// looks its elements have, of strings and numbers nothing but that they are
// there.
func Structure(v *document.Value, depth int) uint64 {
	h := Mix(uint64(v.Kind) + 1)
	if depth == 0 {
		return h
	}
	switch v.Kind {
	case document.Array:
		looks := map[uint64]bool{}
		for i := range v.Items {
			looks[Structure(&v.Items[i], depth-1)] = true
			if len(looks) == 16 {
				break
			}
		}
		for l := range looks {
			h += l
		}
	case document.Object:
		for i, k := range v.Keys {
			if pattern.IsID(k) {
				k = ""
			}
			h += Mix(Hash(k) + Structure(&v.Items[i], depth-1))
		}
	}
	return Mix(h)
}

// Hash is the 64-bit FNV-1a hash.
func Hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// Mix spreads a hash's bits (the finalizer of MurmurHash3).
func Mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
