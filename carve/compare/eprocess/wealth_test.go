package eprocess

import (
	"testing"
)

// TestCapAt: a wealth above the cap is cut to it, each part by the same ratio, and one
// below it stays.
func TestCapAt(t *testing.T) {
	b := NewBets()
	for i := range 10 {
		b.Bet(1, 0.01, i+1)
	}
	whole := b
	if b.CapAt(b.Now + 1); b != whole {
		t.Error("a wealth below the cap was cut")
	}
	b.CapAt(1.5)
	sum := b.Cash
	for i, w := range b.Staked {
		sum += w
		if !isNear(w/whole.Staked[i], 1.5/whole.Now, 1e-12) {
			t.Errorf("bet %d is cut to %v of what it was", i, w/whole.Staked[i])
		}
	}
	if b.Now != 1.5 || !isNear(sum, 1.5, 1e-12) || b.Peak != whole.Peak || b.At != whole.At {
		t.Errorf("%+v after %+v", b, whole)
	}
}

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
