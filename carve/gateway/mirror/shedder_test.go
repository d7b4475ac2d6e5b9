package mirror

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// slowness is a stand-in for a monolith whose latency is lognormal around a median.
type slowness struct {
	rng    *rand.Rand
	median time.Duration
	sigma  float64
}

func (s slowness) latency() time.Duration {
	return time.Duration(float64(s.median) * math.Exp(s.sigma*s.rng.NormFloat64()))
}

// run lets n requests go by, mirroring unless the shedder sheds; loaded is how
// many times slower the monolith is while it is mirrored. It returns how many
// requests were mirrored.
func (s slowness) run(st *Shedder, n int, loaded float64, now *time.Time) (mirrored int) {
	for range n {
		*now = now.Add(10 * time.Millisecond)
		d := s.latency()
		shed := st.Sheds(*now)
		if !shed {
			mirrored++
			d = time.Duration(float64(d) * loaded)
		}
		st.Observe(d, shed, *now)
	}
	return mirrored
}

func TestShedder(t *testing.T) {
	steady := slowness{rand.New(rand.NewPCG(1, 2)), 10 * time.Millisecond, 0.6}
	tests := []struct {
		name     string
		above    float64
		then     func(st *Shedder, now *time.Time) (mirrored, of int)
		min, max float64 // the share mirrored afterwards
	}{
		{"steady: never sheds", 2, func(st *Shedder, now *time.Time) (int, int) {
			return steady.run(st, 50_000, 1, now), 50_000
		}, 1, 1},
		{"mirroring slows it fourfold: mostly sheds", 2, func(st *Shedder, now *time.Time) (int, int) {
			return steady.run(st, 20_000, 4, now), 20_000
		}, 0.05, 0.6},
		{"the same, but never asked to shed", 0, func(st *Shedder, now *time.Time) (int, int) {
			return steady.run(st, 20_000, 4, now), 20_000
		}, 1, 1},
		{"slow by itself: sheds, then learns that it was not the cause", 2, func(st *Shedder, now *time.Time) (int, int) {
			slow := slowness{steady.rng, 60 * time.Millisecond, 0.6}
			if m := slow.run(st, 200, 1, now); m > 150 {
				t.Errorf("%d of the first 200 were mirrored, want shedding at first", m)
			}
			return slow.run(st, 5000, 1, now), 5000
		}, 0.95, 1},
		{"a rise below a millisecond is nobody's trouble", 2, func(st *Shedder, now *time.Time) (int, int) {
			quick := slowness{steady.rng, 100 * time.Microsecond, 0.3}
			quick.run(st, 10_000, 1, now)
			return quick.run(st, 1000, 5, now), 1000
		}, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := &Shedder{Above: tt.above}
			now := time.Unix(0, 0)
			steady.run(st, 1000, 1, &now)
			m, of := tt.then(st, &now)
			if share := float64(m) / float64(of); share < tt.min || share > tt.max {
				t.Errorf("%.3f of the requests were mirrored, want %.2f to %.2f", share, tt.min, tt.max)
			}
		})
	}
}

func TestShedderResumesOnAUnmirroredRoute(t *testing.T) {
	st := &Shedder{Above: 2}
	now := time.Unix(0, 0)
	s := slowness{rand.New(rand.NewPCG(3, 4)), 10 * time.Millisecond, 0.2}
	s.run(st, 500, 1, &now)
	for !st.Sheds(now) {
		st.Observe(100*time.Millisecond, false, now)
	}
	if st.Sheds(now.Add(shedLease)) {
		t.Error("still shedding after the lease has run out with no request in between")
	}
}
