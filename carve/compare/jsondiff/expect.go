package jsondiff

import (
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonpath"
)

// expectation is a declared difference of bodies.
type expectation struct {
	index int
	path  jsonpath.Path // nil: any place
	whittle.Expectation
}

// Expectations are those of one finding kind.
type Expectations []expectation

// NewExpectations takes the declared differences of some kinds; those of others belong to other
// tests.
func NewExpectations(c whittle.Comparison, kinds ...whittle.FindingKind) (Expectations, error) {
	var list Expectations
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

// find gives the index in the config of the first expectation that declares d,
// -1 for none. from and to are the whole values.
func (l Expectations) find(trail []jsondoc.Place, d *Difference, from, to []byte) int {
	for _, e := range l {
		if (e.path == nil || e.path.Matches(trail)) &&
			sameValue(e.From, from, d.From) && sameValue(e.To, to, d.To) {
			return e.index
		}
	}
	return -1
}

// sameValue compares a declared value with what came: the JSON text, a string
// without its quotes, or the words of the finding ("missing").
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
