package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"whittle/internal/units"
	"whittle/load/plan"
)

// DryRequests is how many requests of each scenario a dry run shows.
const DryRequests = 10

// DryRun writes what the plan would send: of each scenario or group of users the first
// requests of one user, with the time at which each would be due if responses took none.
// Nothing is sent, so what responses would bring is not known: variables that are
// captured have no value, and loops and conditions over them go as they would without.
func (r *Runner) DryRun(ctx context.Context, w io.Writer) error {
	n, err := r.network()
	if err != nil {
		return err
	}
	defer n.CloseIdle()
	defer r.rest()
	t := r.task(n)
	t.mayLoop = false
	d := &dryRun{now: time.Now().UTC().Round(0)} // without a monotonic clock, which goes on
	t.options.Now = func() time.Time { return d.now }
	d.began = d.now
	fmt.Fprintf(&d.out, "%s → %s, nothing is sent\n", r.plan.Name, r.target)
	flow := func(title string, g *userGroup, steps []plan.Step) error {
		s, err := newExecution(t)
		if err != nil {
			return err
		}
		defer s.close()
		s.dry, d.left, d.idle, d.now = d, DryRequests, dryIdle, d.began
		halted := make(chan struct{})
		s.end.halted, s.end.halt, s.end.abort = halted, func() {}, func() {}
		fmt.Fprintf(&d.out, "\n%s\n", title)
		u := s.newUserOf(&shard{sum: newTally(max(len(r.plan.Names), plan.MaxNames))})
		u.unrecorded, u.due, u.group = true, d.now, g
		u.pcg.Seed(s.seed, 0)
		u.setUp()
		loops := int64(1)
		if g != nil {
			loops = g.LoopCount()
			if g.Total > 0 {
				loops = min(loops, g.Total)
			}
		}
		for u.loop = range loops {
			u.begin()
			if before := d.left; !u.RunSteps(ctx, steps) && d.left == before || u.done || d.left == 0 || d.idle == 0 {
				break
			}
		}
		if d.left == 0 {
			fmt.Fprintln(&d.out, "  …")
		}
		return nil
	}
	if len(r.plan.Before) > 0 {
		if err := flow("before the run, once", nil, r.plan.Before); err != nil {
			return err
		}
	}
	for i := range r.plan.Groups {
		g := &userGroup{Group: &r.plan.Groups[i], index: i}
		scenarios := r.plan.Scenarios
		if g.Scenario != plan.AnyScenario {
			scenarios = scenarios[g.Scenario : g.Scenario+1]
		}
		for k := range scenarios {
			title := strings.TrimSpace(g.Name + ": " + units.Counted(g.Users, "user"))
			if err := flow(strings.TrimPrefix(title, ": "), g, scenarios[k].Steps); err != nil {
				return err
			}
		}
	}
	if !r.plan.Closed() {
		for i := range r.plan.Scenarios {
			s := &r.plan.Scenarios[i]
			title := fmt.Sprintf("%.3g %% of %s", 100*s.Weight/max(r.plan.Weight, s.Weight), units.Counted(r.plan.Planned(), "user"))
			if s.Name != "" {
				title = fmt.Sprintf("scenario %q, ", s.Name) + title
			}
			var g *userGroup
			if r.plan.OpenGroup != nil {
				g = &userGroup{Group: r.plan.OpenGroup, index: -1}
			}
			if err := flow(title, g, s.Steps); err != nil {
				return err
			}
		}
	}
	if len(r.plan.After) > 0 {
		if err := flow("after the run, once", nil, r.plan.After); err != nil {
			return err
		}
	}
	for _, note := range append(slices.Clone(r.plan.Notes), proxyNotes(r.plan, n)...) {
		fmt.Fprintf(&d.out, "\nnote: %s\n", note)
	}
	_, err = io.WriteString(w, d.out.String())
	return err
}

// dryIdle bounds the pauses of a flow that sends nothing.
const dryIdle = 10_000

// dryRun is a run in which nothing is sent, and whose clock goes on by pauses alone.
type dryRun struct {
	out        strings.Builder
	began, now time.Time
	left       int // requests of the present flow
	idle       int // pauses of it
}

// sleep lets the clock go on. False: the flow has waited too often.
func (d *dryRun) sleep(until time.Time) bool {
	if until.After(d.now) {
		d.now = until
	}
	d.idle = max(d.idle-1, 0)
	return d.idle > 0
}

// send shows a request in place of sending it.
func (d *dryRun) send(u *user, q *plan.Request) bool {
	d.left--
	u.requests++
	raw, err := u.client.Render(q, &u.scope)
	fmt.Fprintf(&d.out, "  +%-8s %s", d.now.Sub(d.began).Round(time.Millisecond), "")
	if err != nil {
		fmt.Fprintf(&d.out, "%s: %v\n", q.Name, err)
		return d.left > 0
	}
	head, body, _ := bytes.Cut(raw, []byte("\r\n\r\n"))
	for i, line := range strings.Split(string(head), "\r\n") {
		if i == 0 {
			fmt.Fprintf(&d.out, "%s\n", printable(strings.TrimSuffix(line, " HTTP/1.1")))
			continue
		}
		fmt.Fprintf(&d.out, "            %s\n", printable(line))
	}
	if len(body) > 0 {
		fmt.Fprintf(&d.out, "\n            %s\n", printable(string(body[:min(len(body), dryBody)])))
		if len(body) > dryBody {
			fmt.Fprintf(&d.out, "            … %d bytes in all\n", len(body))
		}
	}
	return d.left > 0
}

// dryBody is how much of a body a dry run shows.
const dryBody = 1000

// printable is a text without what could move a terminal's cursor.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
