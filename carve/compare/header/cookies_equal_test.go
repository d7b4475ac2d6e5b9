package header

import (
	"fmt"
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
		h := New(whittle.Comparison{Kind: whittle.Exact, LearnNoise: true, AllHeaders: true}, &display.View{})
		for n := 1; n <= 400; n++ {
			h.See(w.Exchange(n), 0, Level{0, 0.01, n})
			for _, f := range h.values.findings() {
				if f.Decided {
					t.Fatalf("run %d, exchange %d: %s", seed, n, f.Summary)
				}
			}
		}
		for _, f := range h.Findings(0) {
			if f.Decided {
				t.Errorf("run %d: %s", seed, f.Summary)
			}
		}
	}
}

// TestManyNamesOfCookies: what is remembered of cookies is bounded.
func TestManyNamesOfCookies(t *testing.T) {
	t.Parallel()
	h := New(whittle.Comparison{Kind: whittle.Exact, AllHeaders: true}, &display.View{})
	for n := 1; n <= 100; n++ {
		sent := whittle.Header{SetCookie: {fmt.Sprintf("c%d=%x", n, n*7919)}}
		x := &whittle.Exchange{Monolith: whittle.Response{Status: 200, Header: sent}, Candidate: whittle.Response{Status: 200, Header: sent}}
		h.See(x, 0, Level{Limit: 0, Alpha: 0.01, N: n})
	}
	if len(h.values.cookies) != CookiesMost || len(h.values.Places()) != CookiesMost {
		t.Errorf("%d names and %d places of cookies", len(h.values.cookies), len(h.values.Places()))
	}
}
