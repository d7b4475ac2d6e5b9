package compare

import (
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
)

// TestCookiesOfEqualServices: two services that set seven kinds of cookies alike, with
// clocks up to two seconds apart, are called DIFFERENT for them in none of 60 runs,
// looked at after each exchange. The level of a whole verdict is 1 in 100, of which
// cookies may spend 1 in 20,000.
func TestCookiesOfEqualServices(t *testing.T) {
	t.Parallel()
	for seed := range 60 {
		w := comparetest.NewCookieWorld(uint64(seed))
		h, err := newHeaders(whittle.Comparison{Kind: whittle.Exact, LearnNoise: true, AllHeaders: true}, 0.01, &display.View{})
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 400; n++ {
			h.see(w.Exchange(n))
			found, _ := h.report(0.01)
			for _, f := range found {
				if f.Decided {
					t.Fatalf("run %d, exchange %d: %s", seed, n, f.Summary)
				}
			}
		}
	}
}
