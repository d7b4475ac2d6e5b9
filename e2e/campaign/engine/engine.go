// Package engine runs one candidate of the campaign from shadow to wherever
// whittle lets it come, in process and on virtual time. The judge, the guards,
// the rollout and the controller are the real ones under the real config's
// defaults; the gateway is played by a loop that splits, mirrors, falls back,
// watches and asks again as the real one does, without sockets.
package engine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/control"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
)

// Settings are a run's bounds.
type Settings struct {
	// Requests is how many there are at most.
	Requests int
	// Users is how many there are; they come by a Zipf distribution.
	Users int
	// Live is how many more there are once the shift is over.
	Live int
	// Route is put below the family's own part of the config. Empty: the
	// shipped defaults alone.
	Route string
}

// Defaults are those of the campaign: 50 requests a second of 2,000 users for
// ten minutes.
func Defaults() Settings { return Settings{Requests: 30_000, Live: 30_000, Users: 2000} }

// End is where a run came to.
type End string

// The ends.
const (
	Refused    End = "refused"     // DIFFERENT before any user
	RolledBack End = "rolled back" // users were taken off it
	Waiting    End = "waiting"     // neither shown to differ nor let on
	Live       End = "live"        // the shift is over
)

// Result is what became of one candidate.
type Result struct {
	Seed    uint64
	End     End
	Finding string // what named it: "field $.total", "guard errors", "circuit breaker"
	Verdict whittle.State
	// Held says that a guard lets the rise wait at the end.
	Held     bool
	Requests int // users'
	// Named is how many exchanges had been compared at its end.
	Named int
	// Largest is the largest share in force.
	Largest whittle.Share
	// Served is how many responses users got from the candidate; Wrong of them
	// were not what a faithful one responds.
	Served, Wrong int
	// Fallbacks are the users' requests that the monolith answered after all.
	Fallbacks int
	// Asked is how many rounds of asking again there were.
	Asked int
	// Others says that a difference is named another request's.
	Others bool
}

// Spoken reports whether a finding, a guard or the circuit breaker is what keeps
// the candidate from users.
func (r *Result) Spoken() bool { return r.End == Refused || r.End == RolledBack || r.Held }

// Harmed reports whether more of the route's requests got a wrong response than
// its budget allows.
func (r *Result) Harmed(budget float64) bool { return float64(r.Wrong) > budget*float64(r.Requests) }

// Route is the family's route as the config's reader makes it, every default in
// force.
func Route(f *family.Family, more string) (whittle.Route, error) {
	text := "monolith: http://127.0.0.1:3000\nadmin: off\nroutes:\n  - " + f.Route +
		"\n    candidate: {url: \"http://127.0.0.1:6668\"}\n"
	for line := range strings.Lines(more) {
		text += "    " + strings.TrimRight(line, "\n") + "\n"
	}
	file, err := config.Parse("proof.yaml", []byte(text), nil)
	if err != nil {
		return whittle.Route{}, fmt.Errorf("read the config of %s: %w", f.Name, err)
	}
	return file.Routes[0], nil
}

// Run takes a candidate as far as it gets. A nil mutation is a faithful one. The
// same arguments give the same result.
func Run(f *family.Family, m *fault.Mutation, seed uint64, s Settings) (Result, error) {
	spec, err := Route(f, s.Route)
	if err != nil {
		return Result{}, err
	}
	g := newGateway(f, m, spec, seed, s)
	ctl, err := control.New(control.Options{
		Store: nowhere{}, Routes: []whittle.Route{spec}, Apply: g.apply, Watch: g.watch,
		NewJudge: g.newJudge, NewGuard: g.newGuard, Now: func() time.Time { return g.now },
	})
	if err != nil {
		return Result{}, err
	}
	g.ctl = ctl
	if err := g.play(); err != nil {
		return Result{}, err
	}
	return g.result(), ctl.Flush()
}

// source is one of a run's sources of chance. They are apart, so that a
// mutation's draws change nobody else's.
func source(seed uint64, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed*0x9e3779b97f4a7c15+purpose, purpose))
}
