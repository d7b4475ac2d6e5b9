package guard

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// caller is one user: unlike the others in how long the requests take and vary,
// how often they fail, and how often they come.
type caller struct {
	id      uint64
	median  float64 // ms
	spread  float64 // of the logarithm
	errors  float64
	slot    whittle.Share // of ten thousand
	arrives float64       // sum of the rates up to this one's
}

// callers are a route's users. Rates follow a Zipf distribution, medians lie between a
// fifth and five times of 20 ms for nine in ten, error rates between none and
// some percent.
func newCallers(n int, r *rand.Rand) []caller {
	list := make([]caller, n)
	sum := 0.0
	for i := range list {
		c := &list[i]
		c.id = r.Uint64()
		c.slot = slotInShare(c.id)
		c.median = 20 * math.Exp(r.NormFloat64())
		c.spread = 0.3 + 0.7*r.Float64()
		c.errors = min(0.001*math.Exp(1.5*r.NormFloat64()), 0.1)
		sum += 1 / float64(i+1)
		c.arrives = sum
	}
	return list
}

// pick draws whose request comes next.
func pick(users []caller, r *rand.Rand) *caller {
	x := r.Float64() * users[len(users)-1].arrives
	return &users[sort.Search(len(users)-1, func(i int) bool { return users[i].arrives >= x })]
}

// slotInShare is where the gateway places a user (package gateway, split.go).
func slotInShare(id uint64) whittle.Share {
	h := id ^ 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	slot, _ := bits.Mul64(h^h>>31, uint64(whittle.All))
	return whittle.Share(slot)
}

// behaviour is what the candidate does beyond the monolith.
type behaviour struct {
	slower float64 // its latency, times the monolith's
	errors float64 // its error rate on top
	differ float64 // wrong responses
}

// route plays a route with a guard.
type guardedRoute struct {
	g       *Guard
	r       *rand.Rand
	users   []caller
	does    behaviour
	paired  bool    // exchanges are compared: served ones all at first, later 1 in 20
	sample  float64 // mirrored part of the monolith's exchanges
	noise   float64 // share of both sides' responses that are odd by chance
	second  float64 // what is asked second takes so many times as long
	at      time.Time
	every   time.Duration // between two requests
	share   whittle.Share
	served  int // responses of the candidate at this share
	pairs   int
	request int
}

func newGuardedRoute(n int, r *rand.Rand) *guardedRoute {
	return &guardedRoute{g: New(testGuard), r: r, users: newCallers(n, r), does: behaviour{slower: 1}, sample: 0.25, second: 0.6, at: simtest.Start, every: 20 * time.Millisecond}
}

// to puts another share in force and plays so many requests at it, until a guard is breached.
func (t *guardedRoute) to(s whittle.Share, requests int) (breached bool) {
	t.share, t.served = s, 0
	t.g.Share(s)
	for range requests {
		if t.next() {
			return true
		}
	}
	return false
}

// response draws one side's response to a request of so much work.
func (t *guardedRoute) response(u *caller, side whittle.Side, work float64, first bool) whittle.Outcome {
	o := whittle.Outcome{User: u.id, At: t.at, Side: side, Status: 200}
	ms, rate := u.median*work*math.Exp(0.7*u.spread*t.r.NormFloat64()), u.errors
	if side == whittle.Candidate {
		ms *= t.does.slower
		rate += t.does.errors
	}
	if !first {
		ms *= t.second
	}
	if t.r.Float64() < rate {
		o.Status = 503
	}
	o.Latency = time.Duration(ms * float64(time.Millisecond))
	return o
}

// odd says whether a response is another one by chance.
func (t *guardedRoute) odd(rate float64) bool { return t.r.Float64() < rate }

// next plays one request; it reports whether a guard was breached.
func (t *guardedRoute) next() (breached bool) {
	t.request++
	t.at = t.at.Add(t.every)
	u := pick(t.users, t.r)
	// Half of what a request takes is its own, the same on both sides; and the
	// load goes up and down for both.
	work := math.Exp(0.7*u.spread*t.r.NormFloat64()) * (1 + 0.4*math.Sin(float64(t.request)/3000))
	side := whittle.Monolith
	if u.slot < t.share {
		side = whittle.Candidate
	}
	first := t.response(u, side, work, true)
	if side == whittle.Candidate {
		t.served++
	}
	compare := t.paired && (side == whittle.Candidate && (t.pairs < 1400 || t.r.IntN(20) == 0) ||
		side == whittle.Monolith && t.r.Float64() < t.sample)
	var other whittle.Outcome
	if compare || side == whittle.Candidate && first.Bad() {
		other = t.response(u, 1-side, work, false)
	}
	first.BothBad = side == whittle.Candidate && first.Bad() && other.Bad()
	t.g.Outcome(first)
	if compare {
		t.pair(first, other, side)
	}
	g := t.g
	return g.Errors.Breached || g.Slow.Breached || g.Mismatch.Breached
}

func (t *guardedRoute) pair(first, other whittle.Outcome, side whittle.Side) {
	p := whittle.Pair{
		User: first.User, At: t.at, First: side, Monolith: first, Candidate: other,
		Compared: true, Repeated: t.r.IntN(20) == 0,
	}
	if side == whittle.Candidate {
		t.pairs++
		p.Monolith, p.Candidate = other, first
	}
	m, c, again := t.odd(t.noise), t.odd(t.noise), t.odd(t.noise)
	p.Differs = m || c || t.odd(t.does.differ)
	p.SelfDiffers = p.Repeated && (m || again)
	t.g.Pair(p)
}

// rollout plays the shadow and the five steps, so many requests each; it gives
// the step at which a guard was breached, or −1.
func (t *guardedRoute) rollout(perStep int) int {
	t.to(0, perStep)
	for i, s := range []whittle.Share{100, 500, 2500, 5000, whittle.All} {
		if t.to(s, perStep) {
			return i
		}
	}
	return -1
}

// reorderedRoute plays pairs of equal services, in which what is asked second takes second
// times as long.
type reorderedRoute struct {
	g             *Guard
	r             *rand.Rand
	sigma, second float64
	requests      int
}

func (t *reorderedRoute) latency(factor float64) time.Duration {
	return time.Duration(10e6 * factor * math.Exp(t.sigma*t.r.NormFloat64()))
}

// breached plays n requests at a share.
func (t *reorderedRoute) breached(n int, share whittle.Share) bool {
	t.g.Share(share)
	for range n {
		t.requests++
		first, own, other := whittle.Monolith, t.second, 1.0
		if t.r.IntN(int(whittle.All)) < int(share) {
			first, own, other = whittle.Candidate, 1, t.second
		}
		c := outcome(t.requests, whittle.Candidate, 200, t.latency(own))
		m := outcome(t.requests, whittle.Monolith, 200, t.latency(other))
		if first == whittle.Monolith {
			t.g.Outcome(m)
		}
		t.g.Pair(whittle.Pair{User: uint64(t.requests), At: c.At, First: first, Monolith: m, Candidate: c})
		if t.g.Slow.Breached {
			return true
		}
	}
	return false
}

// TestTheOrderMayMatterMore: of equal candidates, at most 1 in 100 is rolled back where
// being asked second begins to cost several times as much, or as little, in the middle of
// a shift, as on a machine that becomes busy or with a cache that becomes cold; in each
// world by itself at most 6. A correct implementation may show 0.05 % (simtest.Rate).
func TestTheOrderMayMatterMore(t *testing.T) {
	t.Parallel()
	type world struct {
		share         whittle.Share
		sigma, second float64
	}
	worlds := map[string]world{}
	for _, share := range []whittle.Share{100, 500} {
		for _, sigma := range []float64{0.3, 0.8} {
			for _, second := range []float64{0.25, 3, 6} {
				w := world{share, sigma, second}
				worlds[fmt.Sprint(w)] = w
			}
		}
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.06, worlds, func(w world, run int) bool {
		route := &reorderedRoute{g: New(testGuard), r: rand.New(rand.NewPCG(uint64(run), 99)), sigma: w.sigma, second: 1}
		if route.breached(500, 0) || route.breached(3000, w.share) {
			return true
		}
		route.second = w.second
		return route.breached(1500, w.share)
	})
}
