package run

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
)

// Report is what a run came to.
type Report struct {
	Seed     uint64
	Took     float64 // seconds
	Requests int64
	// UserErrors are those that direct access would not have had. Mixed and Doubled are among
	// them, and the worst.
	UserErrors, Mixed, Doubled int64
	// Exempt failed while the monolith was down.
	Exempt int64
	// Unfit is direct access that failed where it was not to: the harness's fault.
	Unfit     int64
	Errors    []Error
	Events    map[string]int
	Rollbacks int64
	Notes     []string
	Accounts  []Account
	Rests     []Rest
	// Failed says why the run is no proof, empty: it is one.
	Failed []string
}

// report ends the run's account.
func (r *soak) report(ctx context.Context, took time.Duration, failed error) *Report {
	out := &Report{
		Seed: r.o.Seed, Took: took.Seconds(), Requests: r.tally.requests.Load(), Exempt: r.tally.exempt.Load(),
		Events: r.events, Rollbacks: r.rollbacks.Load(), Unfit: r.tally.unfit, Errors: r.tally.errors,
	}
	out.UserErrors, out.Mixed, out.Doubled = r.tally.errorCount()
	for _, text := range slices.Sorted(maps.Keys(r.notes)) {
		out.Notes = append(out.Notes, fmt.Sprintf("%s (%d)", text, r.notes[text]))
	}
	if failed == nil {
		out.Accounts, failed = r.accounts(ctx)
	}
	if failed == nil {
		out.Rests = r.rests(ctx)
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
	for _, g := range r.gateways {
		last, panicked := g.said.text()
		say(panicked, "%s panicked: %s", g.name, last)
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
			g.said.shorten()
			if s, ok := g.sample(); ok {
				line += fmt.Sprintf(" %s %.0f goroutines %.0f files", g.name, s.Goroutines, s.Files)
			}
		}
		fmt.Fprintln(r.o.Progress, line)
	})
}

// Write writes it for people.
func (o *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "\n%d requests in %.0f s, %.0f a second; seed %d\n", o.Requests, o.Took, float64(o.Requests)/o.Took, o.Seed)
	fmt.Fprintf(w, "%d user errors that direct access would not have had (%d mixed, %d doubled); %d failed while the monolith was down\n",
		o.UserErrors, o.Mixed, o.Doubled, o.Exempt)
	for _, name := range slices.Sorted(maps.Keys(o.Events)) {
		fmt.Fprintf(w, "  %4d × %s\n", o.Events[name], name)
	}
	fmt.Fprintf(w, "  %4d × rollback\n\n", o.Rollbacks)
	for i := range o.Accounts {
		a := &o.Accounts[i]
		fmt.Fprintf(w, "ledger %-5s %-24s sent %d to %d: %s\n", a.Gateway, a.Route, a.Sent, a.Sent+a.Uncertain, a.Text)
	}
	for _, n := range o.Notes {
		fmt.Fprintln(w, "note:", n)
	}
	for i := range o.Errors {
		e := &o.Errors[i]
		p := e.Plan
		fmt.Fprintf(w, "\nERROR %s: %s %s, %s %s, fault %s, candidate's %s, after %s: %s\n  plan %s, %s\n", e.Class, e.Client, e.At.Format("05.000"), p.Way, p.Path(),
			p.Fault, p.Candidate, e.Took, e.Text, p.Text(), e.Said)
		if i == 5 {
			fmt.Fprintf(w, "… and %d more\n", len(o.Errors)-6)
			break
		}
	}
	for _, f := range o.Failed {
		fmt.Fprintln(w, "FAILED:", f)
	}
}
