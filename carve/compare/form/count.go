package form

import (
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// rootHash is the place of a body that is compared as a whole.
var rootHash = digest.FNV([]byte(root))

// fieldsMost is how many places of values are counted.
const fieldsMost = most * few

// countFields counts the different places of values that the monolith's response and the
// candidate's both had under the same keys, in each of the first exchanges and one in 256 of the
// others, so that counting takes no time that can be measured. What is not JSON is compared as a
// whole, and counts as one.
func (f *Forms) countFields(monolith, candidate []byte, n int) {
	if n > 16 && n%256 > 0 {
		return
	}
	w, both := &f.walk, map[uint64]bool{}
	if w.doc.Scan(candidate) == jsondoc.Scanned {
		w.leaves(func(_ uint32, _ []byte, keys uint64) { both[keys] = true })
	}
	if w.doc.Scan(monolith) != jsondoc.Scanned {
		if len(monolith) > 0 {
			f.fields[rootHash] = true
		}
		return
	}
	w.leaves(func(_ uint32, at []byte, keys uint64) {
		h := digest.FNV(at)
		if both[keys] && len(f.fields) < fieldsMost && !f.fields[h] && (len(f.ignore) == 0 || !jsonpath.AnyCovers(f.ignore, TrailOf(string(at)))) {
			f.fields[h] = true
		}
	})
}
