package compare

import (
	"fmt"
	"testing"
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
		x := exchange(say(i, false), say(i, i%10 < 3))
		if i%5 == 4 {
			repeated(x, say(i, i%50 == 4))
		}
		m.Observe(x)
	}
	noise, _ := m.noiseBound(m.alpha)
	form, waits := m.forms.Bound(m.n)
	if noise.More != -1 || !waits || form.More <= 0 {
		t.Fatalf("noise takes %d more and forms %d", noise.More, form.More)
	}
	_, bounds := m.Report(m.alpha)
	if more := moreFor(bounds); more != -1 {
		t.Errorf("%d more are needed, which nobody knows", more)
	}
}
