//go:build !race

// A total wraps only above 43 million draws, which take the race detector half
// a minute; the other tests have it watch the same workers.

package published

import "testing"

func TestWrap(t *testing.T) {
	right := count(t, Flaws{Distribution: true}, 45_000_000)
	if right < 2_200_000_000 || right > 2_250_000_000 {
		t.Errorf("mended: %d, want about 2,227,500,000", right)
	}
	if wrapped := count(t, All, 45_000_000); wrapped > -2_042_000_000 || wrapped < -2_092_000_000 {
		t.Errorf("as published: %d, want about -2,067,467,000", wrapped)
	}
}
