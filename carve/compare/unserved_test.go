package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
)

// Of requests that whittle asked both sides of, in an order that it drew, both orders count
// for the verdict, and none for what users got.
func TestUnservedOrdersAreOneBody(t *testing.T) {
	for _, tt := range []struct {
		name string
		odd  int // the candidate is wrong in one of so many; 0: never
		want whittle.State
	}{{"equal", 0, whittle.Equivalent}, {"odd", 20, whittle.Different}} {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(37, 3))
			j := judgeOf(t, comparetest.FormComparison)
			n := 0
			for ; n < 5000 && j.Verdict().State == whittle.Undecided; n++ {
				x := comparetest.Gave(float64(n)/20, 0, fmt.Sprintf("/items/%d", n), fmt.Sprintf(`{"id":%d}`, n))
				x.Unserved, x.Served, x.FirstChance = true, whittle.Side(r.IntN(2)), 0.5
				x.Candidate = x.Monolith
				if tt.odd > 0 && n%tt.odd == 0 {
					x.Candidate.Body = []byte(`{"id":-1}`)
				}
				if again := x.Monolith; n%20 == 0 {
					x.Repeat = &again
				}
				j.Observe(x)
			}
			v := j.Verdict()
			if v.State != tt.want || v.Compared != n || n > 3000 {
				t.Errorf("%d exchanges: %s", n, v.Summary)
			}
			if s := j.Served(); s.Compared != 0 {
				t.Errorf("%+v of what users got", s)
			}
		})
	}
}
