package compare

import (
	"fmt"
	"testing"

	"whittle/carve/compare/form"
)

// TestMoreNeededStaysUnknown: where nobody knows how many exchanges one bound takes, a bound of
// which it is known does not make a number of it.
func TestMoreNeededStaysUnknown(t *testing.T) {
	t.Parallel()
	m := matchOf(t, testMatch)
	say := func(i int, other bool) string {
		if !other {
			i = 0
		}
		return fmt.Sprintf(`{"id":"%08x"}`, 0xa1b2c3d4^7919*i)
	}
	for i := range 100 { // the candidate changes in 30 % what the monolith does in 10 % of its repeats
		m.Observe(withBodies(i, 5, func(side int) string {
			return say(i, side == form.Candidate && i%10 < 3 || side == form.Repeat && i%50 == 4)
		}))
	}
	noise, _ := m.noiseBound(m.alpha)
	ofForms, waits := m.forms.Bound(m.n)
	if noise.More != -1 || !waits || ofForms.More <= 0 {
		t.Fatalf("noise takes %d more and forms %d", noise.More, ofForms.More)
	}
	_, bounds := m.Report(m.alpha)
	if more := moreFor(bounds); more != -1 {
		t.Errorf("%d more are needed, which nobody knows", more)
	}
}
