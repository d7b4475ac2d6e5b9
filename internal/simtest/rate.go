package simtest

import (
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
)

const (
	// doubt is how likely an implementation whose rate is the stated one, or higher, may
	// be to pass.
	doubt = 0.01
	// byLuck is how likely a correct implementation may be to fail, if its seeds were
	// drawn anew.
	byLuck = 1e-6
	// mostRuns ends a test that cannot tell one from the other.
	mostRuns = 50_000
)

// Rate holds a rate that comments and docs state, by a sequential test of simulated
// runs, each of which goes wrong or not. It takes no more runs than it needs: some
// hundreds where hardly any goes wrong, and a dozen where most do.
//
// Two hypotheses are held against each other: a run goes wrong with the stated rate or
// more often, given those before it; and it does so with the rate own or less, which a
// correct implementation has shown, lower than the stated one since Ville's inequality is
// seldom sharp. The likelihood ratio of own to stated is a supermartingale under the
// former, its inverse under the latter. So an implementation that errs as often as is
// stated passes with a chance of at most 1 %, and a correct one fails with a chance of at
// most 1e-6. With nothing wrong a stated 1 % takes 460 to 570 runs. Source: Wald 1945,
// Sequential tests of statistical hypotheses; Ville's inequality.
//
// A short run (go test -short, as make test) takes a quarter of the runs and holds the rate s
// that those can hold: (1 − own)/(1 − s) = ((1 − own)/(1 − stated))^4, which is 3.5 % for a
// stated 1 %. make check-all holds the stated rates themselves.
//
// With SIM_RUNS=10000 in the environment each rate takes as many runs at least, which is
// how the figures of docs are made: it holds the stated rates, and logs what it counted.
type Rate struct {
	stated, own    float64
	runs, bad      int
	likelihood     float64 // the logarithm of own's, over stated's
	held, exceeded bool
}

// shorter is how many times as few runs a short run takes.
const shorter = 4

// full reports whether the stated rates are held.
var full = func() bool { return !testing.Short() || fewest > 0 }

func held(stated, own float64) float64 {
	if full() {
		return stated
	}
	return 1 - (1-own)*math.Pow((1-stated)/(1-own), shorter)
}

var fewest, _ = strconv.Atoi(os.Getenv("SIM_RUNS"))

// AtMost is a rate of runs that may go wrong.
func AtMost(stated, own float64) *Rate { return &Rate{stated: held(stated, own), own: own} }

// AtLeast is AtMost of the runs that do not show what they should: a correct
// implementation misses in the share own.
func AtLeast(stated, own float64) *Rate { return AtMost(1-stated, own) }

// Saw takes in a run. What comes once the rate is settled is counted, and changes nothing.
func (r *Rate) Saw(wrong bool) {
	r.runs++
	if wrong {
		r.bad++
		r.likelihood += math.Log(r.own / r.stated)
	} else {
		r.likelihood += math.Log((1 - r.own) / (1 - r.stated))
	}
	r.held = r.held || !r.exceeded && r.likelihood >= -math.Log(doubt)
	r.exceeded = r.exceeded || !r.held && r.likelihood <= math.Log(byLuck)
}

// Open reports whether further runs are needed.
func (r Rate) Open() bool {
	return r.runs < fewest || !r.held && !r.exceeded && r.runs < mostRuns
}

// Hold fails a test unless it has been shown that the rate is below the stated one.
func (r *Rate) Hold(t testing.TB, what string) {
	t.Helper()
	t.Logf("%s: %d of %d runs (held against %.4g %% with a confidence of %g %%)", what, r.bad, r.runs, 100*r.stated, 100*(1-doubt))
	if !r.held {
		t.Errorf("%s: %d of %d runs, stated are at most %.4g %%, and a correct implementation shows %.4g %%", what, r.bad, r.runs, 100*r.stated, 100*r.own)
	}
}

// Play makes one run after another, until the rate is settled, and holds it.
func (r *Rate) Play(t testing.TB, what string, wrong func(run int) bool) {
	t.Helper()
	for run := 0; r.Open(); run++ {
		r.Saw(wrong(run))
	}
	r.Hold(t, what)
}

// InTurn makes runs of several worlds in turn: over all of them together at most the
// stated share may go wrong, and in each by itself at most another one, each, which is
// higher, since a rate over all could hide one world in which it is not kept.
func InTurn[W any](t testing.TB, stated, own, each float64, worlds map[string]W, wrong func(w W, run int) bool) {
	t.Helper()
	names := slices.Sorted(maps.Keys(worlds))
	all, alone := AtMost(stated, own), make([]Rate, len(names))
	for i := range alone {
		alone[i] = *AtMost(each, own)
	}
	for run := 0; all.Open() || slices.ContainsFunc(alone, Rate.Open); run++ {
		for i, name := range names {
			if all.Open() || alone[i].Open() {
				bad := wrong(worlds[name], run)
				all.Saw(bad)
				alone[i].Saw(bad)
			}
		}
	}
	for i, name := range names {
		alone[i].Hold(t, name)
	}
	all.Hold(t, "all together")
}
