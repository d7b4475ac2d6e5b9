package run

import (
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"whittle/bench/soak/client"
	"whittle/bench/soak/plan"
)

// Report is what a run came to.
type Report struct {
	At         time.Time `json:"at"`
	Machine    string    `json:"machine"`
	Seed       uint64    `json:"seed"`
	Took       float64   `json:"seconds"`
	Requests   int64     `json:"requests"`
	UserErrors int64     `json:"user_errors"`
	// Mixed and Doubled are among them, and the worst.
	Mixed   int64            `json:"mixed"`
	Doubled int64            `json:"doubled"`
	ByClass map[string]int64 `json:"user_errors_by_class"`
	// Exempt failed while the monolith was down, Restarted while whittle was.
	Exempt    int64 `json:"failed_in_outages"`
	Restarted int64 `json:"failed_in_restarts"`
	// Unfit is direct access that failed where it was not to: the harness's fault.
	Unfit     int64              `json:"direct_failures"`
	Errors    []Error            `json:"errors"`
	Events    map[string]int     `json:"events"`
	Rollbacks int64              `json:"rollbacks"`
	Notes     []string           `json:"notes"`
	Kinds     []KindReport       `json:"kinds"`
	Faults    []FaultReport      `json:"faults"`
	Accounts  []Account          `json:"ledgers"`
	Rests     []Rest             `json:"rests"`
	Trends    []map[string]Trend `json:"trends"`
	Samples   [][]Sample         `json:"samples"`
	// Calm are those taken while nobody asked.
	Calm [][]Sample `json:"calm"`
	// Failed says why the run is no proof, empty: it is one.
	Failed []string `json:"failed"`
	// LongEnough says that memory was judged.
	LongEnough bool `json:"long_enough"`
}

// KindReport is what became of the requests of a kind of client.
type KindReport struct {
	Name   string           `json:"name"`
	Users  int              `json:"users"`
	Counts map[string]int64 `json:"counts"`
}

// FaultReport is what became of requests with a fault, through whittle and directly.
type FaultReport struct {
	Fault    string           `json:"fault"`
	Harmless bool             `json:"harmless"`
	Through  map[string]int64 `json:"through"`
	Direct   map[string]int64 `json:"direct"`
}

// judgedFrom is how long a run has to be for its memory to be judged.
const judgedFrom = 5 * time.Minute

// report ends the run's account.
func (r *soak) report(ctx context.Context, kinds []*kind, took time.Duration, failed error) *Report {
	out := &Report{
		At: r.began, Seed: r.o.Seed, Took: took.Seconds(), Requests: r.tally.requests.Load(), Exempt: r.tally.exempt.Load(), Restarted: r.tally.restarted.Load(),
		Events: r.events, Rollbacks: r.rollbacks.Load(), ByClass: r.tally.failed, Unfit: r.tally.unfit, Errors: r.tally.errors, Samples: r.samples, Calm: r.calm,
		LongEnough: took >= judgedFrom,
		Machine:    fmt.Sprintf("%d cores, %s", runtime.NumCPU(), runtime.GOARCH),
	}
	out.UserErrors, out.Mixed, out.Doubled = r.tally.errorCount()
	for _, text := range slices.Sorted(maps.Keys(r.notes)) {
		out.Notes = append(out.Notes, fmt.Sprintf("%s (%d)", text, r.notes[text]))
	}
	r.tables(out, kinds)
	if failed == nil {
		out.Accounts, failed = r.accounts(ctx)
	}
	if failed == nil {
		out.Rests = r.rests(ctx)
	}
	for i, s := range r.samples {
		out.Trends = append(out.Trends, trends(s, r.calm[i]))
	}
	out.judge(r, failed)
	return out
}

// judge says what is not as it must be.
func (o *Report) judge(r *soak, failed error) {
	say := func(bad bool, format string, args ...any) {
		if bad {
			o.Failed = append(o.Failed, fmt.Sprintf(format, args...))
		}
	}
	say(failed != nil, "the run was broken off: %v", failed)
	say(o.UserErrors > 0, "%d user errors that direct access would not have had", o.UserErrors)
	say(o.Unfit > 0, "%d direct requests failed: what is expected here is not so", o.Unfit)
	for i := range o.Accounts {
		a := &o.Accounts[i]
		say(!a.Whole, "the ledger of %s %s: %d sent and %d perhaps, %s", a.Gateway, a.Route, a.Sent, a.Uncertain, a.Text)
	}
	for i := range o.Rests {
		rest := &o.Rests[i]
		say(!rest.Clean, "%s holds %v goroutines and %v files at the end, %v and %v before: %s", rest.Gateway,
			rest.After.Goroutines, rest.After.Files, rest.Before.Goroutines, rest.Before.Files, rest.Said)
	}
	for i, g := range r.gateways {
		last, panicked := g.said.text()
		say(panicked, "%s panicked: %s", g.name, last)
		for _, what := range slices.Sorted(maps.Keys(o.Trends[i])) {
			t := o.Trends[i][what]
			say(o.LongEnough && !t.Flat, "%s: %s are not shown to be flat: %.0f grew by %.0f, at most %.0f, margin %.0f", g.name, what, t.Level, t.Growth, t.Most, t.Margin)
		}
	}
}

// tables sums up by kind of client and by fault.
func (r *soak) tables(out *Report, kinds []*kind) {
	faults := make([]FaultReport, plan.NumberOfFaults_)
	for f := range plan.NumberOfFaults_ {
		faults[f] = FaultReport{f.String(), f.Harmless(), map[string]int64{}, map[string]int64{}}
	}
	for i, k := range kinds {
		kr := KindReport{Name: k.name, Users: len(k.users), Counts: map[string]int64{}}
		for f := range plan.NumberOfFaults_ {
			side := faults[f].Through
			if k.gateway == "" {
				side = faults[f].Direct
			}
			for c := range client.NumberOfClasses_ {
				if n := r.tally.kinds[i].counts[f][c].Load(); n > 0 {
					kr.Counts[c.String()] += n
					side[c.String()] += n
				}
			}
		}
		out.Kinds = append(out.Kinds, kr)
	}
	for _, f := range faults {
		if len(f.Through)+len(f.Direct) > 0 {
			out.Faults = append(out.Faults, f)
		}
	}
}

// progress writes a line every few seconds.
func (r *soak) progress(ctx context.Context) {
	last := int64(0)
	every(ctx, 5*time.Second, func() {
		n := r.tally.requests.Load()
		line := fmt.Sprintf("%5.0fs %10d requests, %6d/s, %s;", time.Since(r.began).Seconds(), n, (n-last)/5, r.tally)
		last = n
		for _, g := range r.gateways {
			if s, ok := g.sample(ctx, r.began); ok {
				line += fmt.Sprintf(" %s %.0f MiB %.0f goroutines %.0f files", g.name, s.RSS/(1<<20), s.Goroutines, s.Files)
			}
		}
		fmt.Fprintln(r.o.Progress, line)
	})
}

// Write writes it for people.
func (o *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "\n%d requests in %.0f s, %.0f a second (%s); seed %d\n", o.Requests, o.Took, float64(o.Requests)/o.Took, o.Machine, o.Seed)
	fmt.Fprintf(w, "%d user errors that direct access would not have had (%d mixed, %d doubled); %d failed while the monolith was down, %d while whittle was restarted\n",
		o.UserErrors, o.Mixed, o.Doubled, o.Exempt, o.Restarted)
	for _, name := range slices.Sorted(maps.Keys(o.Events)) {
		fmt.Fprintf(w, "  %4d × %s\n", o.Events[name], name)
	}
	fmt.Fprintf(w, "  %4d × rollback\n\n", o.Rollbacks)
	for _, k := range o.Kinds {
		fmt.Fprintf(w, "%-26s %3d users  %s\n", k.Name, k.Users, counts(k.Counts))
	}
	fmt.Fprintf(w, "\n%-30s %-45s %s\n", "fault of the monolith", "through whittle", "direct")
	for _, f := range o.Faults {
		fmt.Fprintf(w, "%-30s %-45s %s\n", f.Fault, counts(f.Through), counts(f.Direct))
	}
	fmt.Fprintln(w)
	for i := range o.Accounts {
		a := &o.Accounts[i]
		fmt.Fprintf(w, "ledger %-5s %-24s sent %d to %d: %s\n", a.Gateway, a.Route, a.Sent, a.Sent+a.Uncertain, a.Text)
	}
	for i, t := range o.Trends {
		name := ""
		if i < len(o.Rests) {
			name = o.Rests[i].Gateway
		}
		for _, what := range slices.Sorted(maps.Keys(t)) {
			v := t[what]
			if v.Level == 0 {
				continue
			}
			fmt.Fprintf(w, "%-5s %-10s %.0f, grew by %.0f in the second half, at most %.0f, margin %.0f (%d samples)\n", name, what, v.Level, v.Growth, v.Most, v.Margin, v.Samples)
		}
	}
	for _, n := range o.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for i := range o.Errors {
		e := &o.Errors[i]
		fmt.Fprintf(w, "\nERROR %s: %s %s, %s %s, fault %s, candidate's %s, after %s: %s\n  plan %s\n  sent %d bytes, …%.300q\n  received %d bytes, …%.600q\n", e.Class, e.Client, e.At.Format("05.000"), e.Way, e.Path,
			e.Fault, e.Side, e.Took, e.Text, e.Plan, e.Tape.SentBytes, tail(e.Tape.Sent, 300), e.Tape.ReceivedBytes, tail(e.Tape.Received, 400))
		if i == 5 {
			fmt.Fprintf(w, "… and %d more in the JSON\n", len(o.Errors)-6)
			break
		}
	}
	for _, f := range o.Failed {
		fmt.Fprintln(w, "FAILED:", f)
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func counts(m map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%d %s", m[name], name))
	}
	return strings.Join(parts, ", ")
}
