package duel

import (
	"context"
	"io"
	"net/url"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/plan"
	"whittle/load/report"
)

// Request is a comparison in a person's words: two URLs, and what is sent to them. Its errors name the settings as the command line does.
type Request struct {
	// A and B are URLs.
	A, B string
	// What is sent to both, without Users, Ramp and Loops. An empty What.Plan: one
	// request to each URL.
	What load.Workload
	// Users are the numbers of closed users, each above 0. One number is compared in
	// blocks, as rates are; several are, in whole runs.
	Users []int
	// Runs is how often each target runs at every number of users; above 0 it makes
	// whole runs of one number too. 0: 3, of several numbers. Ramp and Loops are
	// those of whole runs.
	Runs  int
	Ramp  time.Duration
	Loops int64
	// Block and Warmup are as in Duel.
	Block, Warmup time.Duration
	// Processes and Pages are watched for the CPU time per request of A and of B.
	Processes [2][]cpu.Process
	Pages     [2][]string
	// Gates are the conditions that Result.Err is to be asked about.
	Gates   []Gate
	Options load.Options
	// OnProgress is called with a line on how far the comparison is, from one
	// goroutine. Nil: not called.
	OnProgress func(line string)
}

// Result is what a comparison came to, of whatever kind. Its JSON form is documented
// in docs/load.md.
type Result interface {
	WriteSummary(w io.Writer) error
	// Err is nil, or why the comparison is no success; see Comparison.Err.
	Err(gates []Gate) error
}

// Run makes the comparison. Mistakes are found before anything is sent.
func (q Request) Run(ctx context.Context) (Result, error) {
	if q.OnProgress == nil {
		q.OnProgress = func(string) {}
	}
	if !q.inBlocks() {
		if err := CheckUnpaired(q.Gates); err != nil {
			return nil, err
		}
	}
	for _, target := range []string{q.A, q.B} {
		if !load.IsURL(target) {
			return nil, whittle.Errorf(whittle.Invalid, "compare: %s is no URL", target).
				WithHint("write a server's scheme too: http://HOST:PORT; saved reports, which were made at different times, are not compared")
		}
	}
	p, targets, err := q.plan()
	if err != nil {
		return nil, err
	}
	var sides [2]Side
	for i := range sides {
		sides[i] = Side{Target: targets[i], Watch: q.Processes[i], WatchURLs: q.Pages[i]}
	}
	if q.inBlocks() {
		return Duel{
			Plan: p, A: sides[0], B: sides[1], Length: q.What.Duration, Block: q.Block, Warmup: q.Warmup, Options: q.Options,
			OnProgress: func(p Progress) { q.OnProgress(p.String()) },
		}.Run(ctx)
	}
	return Levels{
		Plan: p, A: sides[0], B: sides[1], Users: q.Users, Runs: q.Runs, Warmup: max(q.Warmup, 0), Options: q.Options,
		Closed:     plan.Closed{Ramp: q.Ramp, Loops: q.Loops, Duration: q.What.Duration},
		OnProgress: func(run string, at report.Progress) { q.OnProgress(run + ": " + at.String()) },
	}.Run(ctx)
}

// inBlocks says that blocks of two targets are compared, not whole runs.
func (q *Request) inBlocks() bool { return len(q.Users) <= 1 && q.Runs == 0 }

// plan is what both targets are sent: the plan's file, or the one request that the two
// URLs are for.
func (q *Request) plan() (*plan.Plan, [2]string, error) {
	targets := [2]string{q.A, q.B}
	if err := q.check(); err != nil {
		return nil, targets, err
	}
	w := q.What
	if w.Rate == 0 {
		w.Duration = 0
	}
	if len(q.Users) == 1 && q.Runs == 0 {
		// In blocks: how long users go on is the block's matter.
		w.Users, w.Loops = q.Users[0], 1
	}
	if w.Plan == "" {
		bareA, _ := plan.SplitLogin(q.A)
		bareB, _ := plan.SplitLogin(q.B)
		w.Plan = bareA
		a, errA := url.Parse(q.A)
		b, errB := url.Parse(q.B)
		if errA != nil || errB != nil || a.RequestURI() != b.RequestURI() {
			return nil, targets, whittle.Errorf(whittle.Invalid, "compare: without a plan both URLs have the same path, unlike %s and %s", bareA, bareB).
				WithHint("write a plan whose requests hold for both, and give the base URLs")
		}
		for i, u := range []*url.URL{a, b} {
			// Each with its own name and password.
			targets[i] = (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host}).String()
		}
	}
	p, err := w.Read()
	return p, targets, err
}

// check refuses what no comparison can be made of.
func (q *Request) check() error {
	for _, n := range q.Users {
		if n < 1 {
			return whittle.Errorf(whittle.Invalid, "compare: --users %d is not above 0", n)
		}
	}
	switch {
	case q.What.Rate > 0 && len(q.Users) > 0:
		return whittle.Errorf(whittle.Invalid, "compare: either a rate of arrivals is given, or users")
	case q.Runs < 0 || q.Ramp < 0 || q.Loops < 0 || q.Block < 0:
		return whittle.Errorf(whittle.Invalid, "compare: --runs, --ramp, --loops and --block are not below 0")
	case q.inBlocks() && (q.Ramp != 0 || q.Loops != 0):
		return whittle.Errorf(whittle.Invalid, "compare: --ramp and --loops go with whole runs").
			WithHint("give several numbers of --users, or --runs")
	case !q.inBlocks() && q.Block != 0:
		return whittle.Errorf(whittle.Invalid, "compare: --block goes with one number of --users or with arrivals, and here are whole runs")
	case q.What.Plan == "" && q.What.Rate == 0 && len(q.Users) == 0:
		return whittle.Errorf(whittle.Invalid, "compare: how much is to be sent?").
			WithHint("give --plan, --rate with --duration, or --users")
	}
	return nil
}
