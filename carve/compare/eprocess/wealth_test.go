package eprocess

import (
	"testing"
)

// TestABigEValueCounts: a big one is worth nearly itself at once to the bold, and one of 0 leaves a part of the
// wealth to go on with.
func TestABigEValueCounts(t *testing.T) {
	b := Bold.New()
	if b.See(1000, 0.01, 3); b.Now < 700 || b.At != 3 {
		t.Errorf("an e-value of 1000 makes a wealth of %v, decided at %d", b.Now, b.At)
	}
	b = Bold.New()
	if b.See(0, 0.01, 1); b.Now < 0.2 || b.Now > 0.25 {
		t.Errorf("after an e-value of 0 the wealth is %v", b.Now)
	}
}
