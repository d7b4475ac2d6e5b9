package promisetest

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// guarded are the config's default limits.
var guarded = whittle.Guard{Errors: 0.01, P99: 1.5, Mismatch: 0.001, Consecutive: 5, Confidence: 0.99}

// Guards holds what every guard promises.
func Guards(t *testing.T, fresh func(whittle.Guard) Guard) {
	for name, hold := range map[string]func(*testing.T, func() Guard){
		"UsersFillNothing": usersFillNothing, "EqualForLong": equalForLong,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hold(t, func() Guard { return fresh(guarded) })
		})
	}
}

func breached(g Guard) bool {
	return slices.ContainsFunc(g.Meters(), func(m whittle.Meter) bool { return m.Breached })
}

// population plays requests of so many users, or of a new user each if users is 0. Half of them
// are on the candidate.
type population struct {
	g     Guard
	r     *rand.Rand
	users int
	n     int
	odd   func(user uint64) float64 // the share of a user's requests that fail on either side
}

// play plays requests, of which the candidate fails so many more, until a guard is breached.
func (c *population) play(requests int, fails float64) (failed int, found bool) {
	for range requests {
		c.n++
		user := uint64(c.n)
		if c.users > 0 {
			user = uint64(1 + c.r.IntN(c.users))
		}
		id := user * 0xd6e8feb86659fd93
		id ^= id >> 32
		o := whittle.Outcome{
			User: id, At: simtest.Start.Add(time.Duration(c.n) * 10 * time.Millisecond), Status: 200,
			Latency: time.Duration((5 + 10*c.r.ExpFloat64()) * float64(time.Millisecond)),
		}
		rate := 0.0
		if c.odd != nil {
			rate = c.odd(id)
		}
		if slot, _ := bits.Mul64(id*0x9e3779b97f4a7c15, 2); slot == 0 {
			o.Side, rate = whittle.Candidate, rate+fails
		}
		if c.r.Float64() < rate {
			o.Status = 500
			failed += int(o.Side & 1)
		}
		if c.g.Outcome(o); c.n%100 == 0 && breached(c.g) {
			return failed, true
		}
	}
	return failed, false
}

// usersFillNothing: after a thousand users or a million, and however often the same ones come, a
// candidate that begins to fail 30 % of its users is found within 60 s and 500 failures at 100
// requests a second, though no request may be asked twice.
func usersFillNothing(t *testing.T, fresh func() Guard) {
	for _, c := range []struct{ users, good int }{
		{0, 1500}, {0, 72_000}, {600, 30_000}, {20_000, 72_000}, {1_000_000, 150_000},
	} {
		for seed := range uint64(2) {
			w := &population{g: fresh(), r: rand.New(rand.NewPCG(seed, 3)), users: c.users}
			w.g.Share(0)
			w.play(1000, 0)
			w.g.Share(whittle.All / 2)
			if _, found := w.play(c.good, 0); found {
				t.Errorf("%d users: breached after %d good requests", c.users, w.n)
			}
			from := w.n
			failed, found := w.play(6000, 0.3)
			if !found || failed > 500 {
				t.Errorf("%d users, %d good requests: found %t after %d requests, %d failures", c.users, c.good, found, w.n-from, failed)
			}
		}
	}
}

// equalForLong: users of whom some always fail, on either side alike, and who come again and
// again, breach nothing in at least 98 of 100 long runs, however many they are.
func equalForLong(t *testing.T, fresh func() Guard) {
	odd := func(user uint64) float64 {
		if user%50 == 0 {
			return 0.9
		}
		return 0.001
	}
	sizes := map[string]int{"20": 20, "300": 300, "5,000": 5000}
	simtest.InTurn(t, 0.02, 0.001, 0.1, sizes, func(users, run int) bool {
		w := &population{g: fresh(), r: rand.New(rand.NewPCG(uint64(run), 5)), users: users, odd: odd}
		w.n = run << 32 // other users in each run
		w.g.Share(0)
		w.play(500, 0)
		w.g.Share(whittle.All / 2)
		_, found := w.play(12_000, 0)
		return found
	})
}
