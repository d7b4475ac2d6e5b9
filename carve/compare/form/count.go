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
	// alone are the patterns of places of the monolith's that the candidate's response
	// never had under the same keys, so that there was nothing to compare them with.
	alone map[string]bool
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
	isJSON := w.doc.Scan(candidate) == jsondoc.Scanned
	if isJSON {
		w.leaves(func(_ uint32, _ []byte, keys uint64) { both[keys] = true })
	}
	if w.doc.Scan(monolith) != jsondoc.Scanned {
		if len(monolith) > 0 {
			c.at[rootHash] = true
		}
		return
	}
	w.leaves(func(_ uint32, at []byte, keys uint64) {
		switch h := digest.FNV(at); {
		case !isJSON || c.isFull() || c.at[h] || len(ignore) > 0 && jsonpath.AnyCovers(ignore, TrailOf(string(at))):
		case both[keys]:
			c.at[h] = true
			delete(c.alone, string(at))
		case len(c.alone) < few:
			c.alone[string(at)] = true
		}
	})
}

// whole reports whether no body had fields.
func (c *fieldCount) whole() bool { return len(c.at) == 1 && c.at[rootHash] }
