//go:build !race

// A total wraps only above 43 million draws, which take the race detector half
// a minute; the other tests have it watch the same workers.

package published

import "testing"

func TestWrap(t *testing.T) {
	right := count(t, Flaws{Distribution: true}, 60_000_000)
	if right < 2_900_000_000 || right > 3_000_000_000 {
		t.Errorf("mended: %d, want about 2,970,000,000", right)
	}
	if wrapped := count(t, All, 60_000_000); wrapped > -1_300_000_000 || wrapped < -1_350_000_000 {
		t.Errorf("as published: %d, want about -1,325,000,000", wrapped)
	}
}
