package published

import (
	"math"
	"math/rand"
	"testing"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// second is the Unix second of every seed in these tests.
const second = 1_525_132_800

func count(t *testing.T, f Flaws, times int32) int64 {
	t.Helper()
	c := &Counter{Flaws: f, Now: func() time.Time { return time.Unix(second, 999) }}
	sum, err := c.Count(t.Context(), times)
	fatal.If(t, err)
	return sum
}

func TestDistribution(t *testing.T) {
	c := &Counter{}
	for _, flawed := range []bool{true, false} {
		c.Flaws.Distribution = flawed
		r := rand.New(rand.NewSource(1))
		var seen [102]int
		for range 200_000 {
			seen[c.draw(r, 1)]++
		}
		mean := 0.
		for v, n := range seen {
			mean += float64(v) * float64(n) / 200_000
		}
		want, most := 50., 100
		if flawed {
			want, most = 49.5, 99
		}
		if math.Abs(mean-want) > 0.3 || seen[most] == 0 || seen[most+1] != 0 {
			t.Errorf("flaw %v: mean %.2f, %d draws of %d", flawed, mean, seen[most], most)
		}
		// The ends weigh half of their neighbours unless flawed.
		if ratio := float64(seen[0]) / float64(seen[1]); math.Abs(ratio-map[bool]float64{true: 1, false: 0.5}[flawed]) > 0.1 {
			t.Errorf("flaw %v: 0 comes %.2f times as often as 1", flawed, ratio)
		}
	}
}

func TestRemainder(t *testing.T) {
	for _, c := range []struct{ times, drawn int32 }{
		{150_000, 100_000}, {99_999, 99_999}, {100_000, 100_000}, {399_999, 300_000},
	} {
		for _, flawed := range []bool{true, false} {
			drawn := c.times
			if flawed {
				drawn = c.drawn
			}
			mean, deviation := 50*float64(drawn), math.Sqrt(833.5*float64(drawn))
			// Up to five workers share a seed, so no luck is involved: the
			// bound only has to be well inside the 100,000 draws of a job.
			got := float64(count(t, Flaws{Seed: true, Remainder: flawed}, c.times))
			if math.Abs(got-mean) > 25*deviation {
				t.Errorf("flaw %v: times %d gave %.0f, want about %.0f", flawed, c.times, got, mean)
			}
		}
	}
}

func TestSeed(t *testing.T) {
	first := count(t, All, 100_000)
	fatal.Same(t, count(t, All, 100_000), first, "as published, twice in one second")
	r, want := rand.New(rand.NewSource(second)), int64(0)
	for range 100_000 {
		want += int64(r.Int31n(100))
	}
	fatal.Same(t, first, want, "as published, by the seed's own kernel")
	mended := All
	mended.Seed = false
	same := true
	for range 5 {
		same = same && count(t, mended, 100_000) == first
	}
	if same {
		t.Error("mended: the same response five times")
	}
}

func TestNothingToDraw(t *testing.T) {
	for _, times := range []int32{0, -5} {
		fatal.Same(t, count(t, All, times), 0, "times %d gave", times)
	}
}

func TestParseFlaws(t *testing.T) {
	for _, c := range []struct {
		list string
		want Flaws
	}{
		{"all", All},
		{"none", Flaws{}},
		{"distribution,remainder,wrap,seed", All},
		{"wrap", Flaws{Wrap: true}},
		{" seed, remainder", Flaws{Seed: true, Remainder: true}},
	} {
		got, err := ParseFlaws(c.list)
		if err != nil || got != c.want {
			t.Errorf("ParseFlaws(%q) = %v, %v, want %v", c.list, got, err, c.want)
		}
		if back, err := ParseFlaws(got.String()); err != nil || back != got {
			t.Errorf("%v reads back as %v, %v", got, back, err)
		}
	}
	for _, list := range []string{"", "speed", "wrap,", "all,wrap"} {
		_, err := ParseFlaws(list)
		whittletest.Refused(t, err, whittle.Invalid, list)
	}
}
