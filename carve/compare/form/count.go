package form

import (
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// Bounds of what is counted: places, and those of them that are named as not compared.
const (
	fieldsMost = 1024 // places
	aloneMost  = 8    // places
)

// fieldCount counts the different places of values that the monolith's response and the
// candidate's both had under the same keys, of a part of them, so that counting takes no
// time that can be measured.
type fieldCount struct {
	at   map[uint64]bool
	more bool
	// alone are the patterns of places of the monolith's that the candidate's response
	// never had under the same keys, so that there was nothing to compare them with.
	alone map[uint64]string
}

func newFieldCount() fieldCount {
	return fieldCount{at: map[uint64]bool{}, alone: map[uint64]string{}}
}

// due reports whether exchange n is counted: each of the first ones, and one in 256
// of the others.
func (c *fieldCount) due(n int) bool { return n <= 16 || n%256 == 0 }

// see counts the places of two bodies. What is not JSON is compared as a whole, and
// counts as one.
func (c *fieldCount) see(w *walker, monolith, candidate []byte, ignore []jsonpath.Path) {
	both := map[uint64]bool{}
	isJSON := w.doc.Scan(candidate) == jsondoc.Scanned
	if isJSON {
		w.leaves(func(_ uint32, at at) { both[at.keys] = true })
	}
	if w.doc.Scan(monolith) != jsondoc.Scanned {
		if len(monolith) > 0 {
			c.at[root.pattern] = true
		}
		return
	}
	if !isJSON {
		return
	}
	w.leaves(func(node uint32, at at) {
		switch h := at.pattern; {
		case c.more || c.at[h] || len(ignore) > 0 && ignored(ignore, w.patternOf(node)):
		case !both[at.keys]:
			if len(c.alone) < aloneMost {
				c.alone[h] = w.patternOf(node)
			}
		case len(c.at) >= fieldsMost:
			c.more = true
		default:
			c.at[h] = true
			delete(c.alone, h)
		}
	})
}

// whole reports whether no body had fields.
func (c *fieldCount) whole() bool { return len(c.at) == 1 && c.at[root.pattern] }
