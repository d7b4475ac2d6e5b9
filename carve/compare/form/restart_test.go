package form

import (
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// TestRulesAreNamedExactly: a form with spaces around it is refused, since no value is of it.
func TestRulesAreNamedExactly(t *testing.T) {
	t.Parallel()
	c := comparetest.FormComparison
	for name, ok := range map[string]bool{"uuid": true, " uuid": false, "any": true, "any ": false, "": false} {
		c.Forms = []whittle.FieldForm{{Path: "$.id", Form: name}}
		if _, err := New(c); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}
