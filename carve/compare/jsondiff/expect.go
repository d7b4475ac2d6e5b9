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

// expectations takes the declared differences of some kinds; those of others belong to other
// tests.
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
