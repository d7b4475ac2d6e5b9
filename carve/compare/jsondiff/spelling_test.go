package jsondiff

import (
	"testing"

	"whittle"
)

// TestSpellingOfPairs: of elements in any order, how numbers are written is noted of those that are
// held against each other in the end, not of those that were tried.
func TestSpellingOfPairs(t *testing.T) {
	t.Parallel()
	j, err := NewJSON(whittle.Comparison{Unordered: []string{"$.items"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	j.Spelling = &Spelling{}
	monolith := `{"n":1.0,"items":[{"k":"a","v":1.0,"p":1}]}`
	candidate := `{"n":1,"items":[{"k":"b","v":1,"q":1},{"k":"a","v":1.0,"p":2,"z":3}]}`
	if list := j.Diff([]byte(monolith), []byte(candidate)); len(list) == 0 {
		t.Fatal("no difference")
	}
	if got := j.Spelling.Places(); len(got) != 1 || got[0] != "$.n" {
		t.Errorf("noted of %q", got)
	}
}
