package form

import (
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// fieldsMost bounds the places that are counted.
const fieldsMost = 1024

// fieldCount counts the different places of values in the monolith's responses, of
// a part of them, so that counting takes no time that can be measured.
type fieldCount struct {
	at   map[uint64]bool
	more bool
}

func newFieldCount() fieldCount { return fieldCount{at: map[uint64]bool{}} }

// due reports whether exchange n is counted: each of the first ones, and one in 256
// of the others.
func (c *fieldCount) due(n int) bool { return n <= 16 || n%256 == 0 }

// root is the place of a body that has no fields.
var root = digest.FNV([]byte("$"))

// see counts the places of a body. One that is not JSON is compared as a whole, and
// counts as one.
func (c *fieldCount) see(w *walker, body []byte, ignore []jsonpath.Path) {
	if w.doc.Scan(body) != jsondoc.Scanned {
		if len(body) > 0 {
			c.at[root] = true
		}
		return
	}
	w.each(func(uint64) bool { return !c.more }, func(node uint32, h uint64) {
		if k := w.doc.Nodes[node].Kind; k == jsondoc.Array || k == jsondoc.Object || c.at[h] {
			return
		}
		if len(ignore) > 0 && ignored(ignore, w.patternOf(node)) {
			return
		}
		if len(c.at) >= fieldsMost {
			c.more = true
			return
		}
		c.at[h] = true
	})
}

// whole reports whether no body had fields.
func (c *fieldCount) whole() bool { return len(c.at) == 1 && c.at[root] }
