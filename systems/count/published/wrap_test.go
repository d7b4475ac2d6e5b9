//go:build !race

// A total wraps only above 43 million draws, which take the race detector half
// a minute; the other tests have it watch the same workers.

package published

import "testing"

func TestWrap(t *testing.T) {
	if wrapped := count(t, 45_000_000); wrapped > -2_042_000_000 || wrapped < -2_092_000_000 {
		t.Errorf("%d, want about -2,067,467,000", wrapped)
	}
}
