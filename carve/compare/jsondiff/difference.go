// Package jsondiff compares two response bodies, as JSON or byte by byte: where they differ, and how.
package jsondiff

import (
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// Difference is one way in which two bodies differ.
type Difference struct {
	// Path is the place as a pattern, with wildcards for array indices and ids; empty: the whole.
	Path string
	// How is what differs there: HowValue, HowMissing...
	How string
	// From and To are the monolith's and the candidate's side, bounded.
	From, To string
	// Times is the number of places of the pattern that differ.
	Times int
	// At says where the first difference is, in words; empty: the path does.
	At string
	// Expect is the index of the expectation that declares the difference, -1 for none. Reversed says
	// that one declares it with the two sides swapped.
	Expect   int
	Reversed bool

	// nodes are the first values in the two documents, or noNodes where whole texts are compared. trail
	// leads to them where words are made. Both hold until the next comparison.
	nodes [2]uint32
	trail []jsondoc.Place
}

var noNodes = [2]uint32{jsondoc.None, jsondoc.None}

// Hash distinguishes pairs of From and To.
func (d *Difference) Hash() uint32 {
	var h digest.Hash
	h.Text(d.From)
	h.Byte(0)
	h.Text(d.To)
	return uint32(h) | 1
}

// The ways to differ at a place. A difference of type is HowType with both types in alphabetical order.
const (
	HowValue    = "value"
	HowMissing  = "missing"
	HowExtra    = "extra"
	HowType     = "type"
	HowLength   = "length"
	HowOrder    = "order"
	HowBytes    = "bytes"
	HowSyntax   = "syntax"
	HowLimit    = "limit"
	HowMore     = "more"
	HowExpected = "expected"
	WayPresence = "presence"
)

// MaxPerBody bounds the differences listed of one pair of bodies. ManyPaths stands for the rest.
const (
	MaxPerBody = 64
	ManyPaths  = "$..*"
)

// Way is the class of noise that explains a way to differ: a changing value explains no missing field
// and no other type.
func Way(how string) string {
	switch how {
	case HowMissing, HowExtra:
		return WayPresence
	}
	return how
}

// TypesOf splits "type null/string".
func TypesOf(how string) (string, bool) { return strings.CutPrefix(how, HowType+" ") }

// expectation is a declared difference of bodies.
type expectation struct {
	index int
	path  jsonpath.Path // nil: any place
	whittle.Expectation
}

// expectations takes the declared differences of some kinds. Other tests take the others.
func expectations(c whittle.Comparison, kinds []whittle.FindingKind) (list []expectation, err error) {
	for i, e := range c.Expect {
		if !slices.Contains(kinds, e.Kind) {
			continue
		}
		x := expectation{index: i, Expectation: e}
		if e.Path != "" {
			p, err := jsondoc.ParsePath(e.Path)
			if err != nil {
				return nil, jsondoc.InField(err, "compare.expect["+strconv.Itoa(i)+"].path")
			}
			x.path = p
		}
		list = append(list, x)
	}
	return list, nil
}

// declares gives the index in the config of the first expectation that declares a difference at the
// present place, -1 for none. from and to are the whole values.
func (j *Differ) declares(from, to []byte, fromWords, toWords string) int {
	for _, e := range j.expect {
		if (e.path == nil || e.path.Matches(j.trail)) && sameValue(e.From, from, fromWords) && sameValue(e.To, to, toWords) {
			return e.index
		}
	}
	return -1
}

// sameValue compares a declared value with the actual one: the JSON text, a string without its quotes,
// or the words of the finding ("missing").
func sameValue(want string, value []byte, words string) bool {
	if want == "" || want == words || want == string(value) {
		return true
	}
	if len(value) > 1 && value[0] == '"' {
		if s, ok := jsondoc.Unquote(nil, value); ok {
			return string(s) == want
		}
	}
	return strings.TrimSpace(string(value)) == want
}
