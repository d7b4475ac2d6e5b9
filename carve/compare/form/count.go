package form

import (
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// fieldCount counts the different places of values that the monolith's response and the
// candidate's both had under the same keys, of a part of them, so that counting takes no
// time that can be measured.
type fieldCount struct {
	at map[uint64]bool // hashes of their patterns
}

// rootHash is the place of a body that is compared as a whole.
var rootHash = digest.FNV([]byte(root))

// due reports whether exchange n is counted: each of the first ones, and one in 256
// of the others.
func (c *fieldCount) due(n int) bool { return n <= 16 || n%256 == 0 }

// isFull reports whether there may be more places than were counted.
func (c *fieldCount) isFull() bool { return len(c.at) >= most*few }

// see counts the places of two bodies. What is not JSON is compared as a whole, and
// counts as one.
func (c *fieldCount) see(w *walker, monolith, candidate []byte, ignore []jsonpath.Path) {
	both := map[uint64]bool{}
	if w.doc.Scan(candidate) == jsondoc.Scanned {
		w.leaves(func(_ uint32, _ []byte, keys uint64) { both[keys] = true })
	}
	if w.doc.Scan(monolith) != jsondoc.Scanned {
		if len(monolith) > 0 {
			c.at[rootHash] = true
		}
		return
	}
	w.leaves(func(_ uint32, at []byte, keys uint64) {
		h := digest.FNV(at)
		if both[keys] && !c.isFull() && !c.at[h] && (len(ignore) == 0 || !jsonpath.AnyCovers(ignore, TrailOf(string(at)))) {
			c.at[h] = true
		}
	})
}

// whole reports whether no body had fields.
func (c *fieldCount) whole() bool { return len(c.at) == 1 && c.at[rootHash] }
