package published

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// second is the Unix second of every seed in these tests.
const second = 1_525_132_800

func count(t *testing.T, times int32) int64 {
	t.Helper()
	c := &Counter{Now: func() time.Time { return time.Unix(second, 999) }}
	sum, err := c.Count(t.Context(), times)
	fatal.If(t, err)
	return sum
}

func TestDistribution(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	var seen [101]float64
	mean := 0.
	for range 200_000 {
		v := draw(r, 1)
		seen[v]++
		mean += float64(v) / 200_000
	}
	if math.Abs(mean-49.5) > 0.3 || seen[99] == 0 || seen[100] != 0 || math.Abs(seen[0]/seen[1]-1) > 0.1 {
		t.Errorf("mean %.2f, %v", mean, seen)
	}
}

func TestRemainder(t *testing.T) {
	for times, drawn := range map[int32]float64{150_000: 100_000, 99_999: 99_999, 100_000: 100_000, 399_999: 300_000} {
		mean, deviation := 49.5*drawn, math.Sqrt(833.5*drawn)
		// Up to five workers share a seed, so no luck is involved: the
		// bound only has to be well inside the 100,000 draws of a job.
		if got := float64(count(t, times)); math.Abs(got-mean) > 25*deviation {
			t.Errorf("times %d gave %.0f, want about %.0f", times, got, mean)
		}
	}
}

func TestSeed(t *testing.T) {
	first := count(t, 100_000)
	if again := count(t, 100_000); again != first {
		t.Errorf("%d and %d in one second, want the same", first, again)
	}
	r, want := rand.New(rand.NewSource(second)), int64(0)
	for range 100_000 {
		want += int64(r.Int31n(100))
	}
	if first != want {
		t.Errorf("%d, want %d by the seed's own kernel", first, want)
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, times := range []int32{0, -5} {
		if got := count(t, times); got != 0 {
			t.Errorf("times %d gave %d, want 0", times, got)
		}
	}
}
