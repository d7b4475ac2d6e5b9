// Package show writes the status of a gateway's routes (verdicts, findings, the state
// of a shift) for a terminal.
package show

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// Findings writes a verdict with what differs.
func Findings(w io.Writer, v *whittle.Verdict) {
	fmt.Fprintln(w, v.Summary)
	if len(v.Findings) == 0 {
		fmt.Fprintln(w, "No difference has been seen.")
	}
	for i := range v.Findings {
		showFinding(w, &v.Findings[i])
	}
	if v.Coverage != nil {
		fmt.Fprintln(w)
		showCoverage(w, v.Coverage, "What was compared: ", "  ")
	}
	if len(v.Bounds) > 0 {
		fmt.Fprintln(w, "\nWhat could still differ:")
	}
	for i := range v.Bounds {
		fmt.Fprintf(w, "  %s\n", boundWords(v, &v.Bounds[i]))
	}
}

// boundWords are a bound's, with whether EQUIVALENT waits for it.
func boundWords(v *whittle.Verdict, b *whittle.Bound) string {
	if waitsFor(v, b) {
		return b.Summary + "; EQUIVALENT waits for this"
	}
	return b.Summary
}

// furthest is, of the bounds that EQUIVALENT waits for, the one furthest from its margin;
// nil: it waits for none.
func furthest(v *whittle.Verdict) (worst *whittle.Bound) {
	most := 0.0
	for i := range v.Bounds {
		b := &v.Bounds[i]
		if !waitsFor(v, b) {
			continue
		}
		far := 0.0
		if b.MarginHigh > 0 {
			far = b.High / b.MarginHigh
		}
		if b.MarginLow < 0 {
			far = max(far, b.Low/b.MarginLow)
		}
		if worst == nil || far > most {
			worst, most = b, far
		}
	}
	return worst
}

// waitsFor reports whether a verdict is open for what a bound does not exclude. What is
// declared is not waited for.
func waitsFor(v *whittle.Verdict, b *whittle.Bound) bool {
	return v.State == whittle.Undecided && v.Compared > 0 && !b.Inside && !slices.ContainsFunc(v.Findings, func(f whittle.Finding) bool {
		return f.Expected != "" && string(f.Kind) == b.What
	})
}

func showFinding(w io.Writer, f *whittle.Finding) {
	state := "suspected"
	switch {
	case f.Expected != "":
		state = "expected: " + f.Expected
	case f.Decided:
		state = fmt.Sprintf("shown after %d exchanges", f.DecidedAt)
	}
	fmt.Fprintf(w, "\n%s (%s)\n  %s\n", strings.TrimSpace(string(f.Kind)+" "+f.Path), state, f.Summary)
	if f.Cause != "" {
		fmt.Fprintf(w, "  why        %s\n", f.Cause)
	}
	fmt.Fprintf(w, "  seen       in %d of %d\n", f.Count, f.Of)
	for i := range f.Samples {
		showSample(w, &f.Samples[i])
	}
}

// showSample shows the place that differs where there is one, and the two
// responses' beginnings otherwise.
func showSample(w io.Writer, s *whittle.Sample) {
	fmt.Fprintf(w, "  sample     %s  %s\n", s.At.Local().Format("15:04:05"), s.Request)
	from, to := s.Monolith, s.Candidate
	if s.Where != "" {
		fmt.Fprintf(w, "             at        %s\n", s.Where)
	}
	if s.MonolithValue != "" || s.CandidateValue != "" {
		from, to = s.MonolithValue, s.CandidateValue
	}
	fmt.Fprintf(w, "             monolith  %s\n             candidate %s\n", from, to)
}

// showCoverage lists the fields that are not compared by value, one a line.
func showCoverage(w io.Writer, c *whittle.Coverage, first, next string) {
	if c == nil {
		return
	}
	what := strconv.Itoa(c.ByValue) + " fields"
	if c.ByValue == 1 {
		what = "1 field"
	}
	switch {
	case c.WholeBody:
		what = "the whole body"
	case c.AtLeast:
		what = "at least " + what
	}
	fmt.Fprintf(w, "%s%s by value, %d by form, %d not compared\n", first, what, len(c.ByForm), len(c.NotCompared))
	for _, f := range c.ByForm {
		declared := ""
		if f.Declared {
			declared = ", declared as " + f.Class
		}
		fmt.Fprintf(w, "%s%s  by form: %s%s\n", next, f.Path, f.Form, declared)
	}
	for _, f := range c.NotCompared {
		fmt.Fprintf(w, "%s%s  not compared: %s\n", next, f.Path, f.Reason)
	}
}

// Route writes a route in a few lines.
func Route(w io.Writer, r *whittle.RouteStatus) {
	held := ""
	if r.Held {
		held = ", held"
	}
	fmt.Fprintf(w, "%s\n", r.Route)
	if r.Steer != nil && r.Steer.UnderWay != "" {
		held += ", " + r.Steer.UnderWay + " under way"
	}
	where := ""
	if r.Steer != nil {
		where = " at the proxy"
	}
	fmt.Fprintf(w, "  share     %g %%%s (%s%s)\n", r.Percent, where, r.Phase.Words(), held)
	showSteered(w, r.Steer)
	fmt.Fprintf(w, "  verdict   %s\n", r.Verdict.Summary)
	if b := furthest(&r.Verdict); b != nil {
		fmt.Fprintf(w, "  waits     on this bound: %s\n", b.Summary)
	}
	fmt.Fprintf(w, "  ledger    %s\n", r.Ledger.Account()+countedFrom(&r.Ledger))
	if r.Harm.Budget > 0 {
		spent, _, _ := strings.Cut(r.Harm.Summary, "; for the next step ") // the line below says what it waits for
		fmt.Fprintf(w, "  harm      %s\n", spent)
	}
	fmt.Fprintf(w, "  next      %s\n", r.Next)
	if r.Holds != "" {
		fmt.Fprintf(w, "  holds     %s\n", r.Holds)
	}
}

// showSteered writes what the proxies have that send users to the candidate.
func showSteered(w io.Writer, s *whittle.SteerStatus) {
	if s == nil {
		return
	}
	for _, p := range s.Proxies {
		has := "no share that is known"
		if !p.Read.IsZero() {
			has = fmt.Sprintf("%g %%", p.Share.Percent())
		}
		switch {
		case p.Confirmed:
			has += ", confirmed"
		case p.Trouble != "":
			has += ", not confirmed: " + p.Trouble
		}
		if p.Note != "" {
			has += "; " + p.Note
		}
		fmt.Fprintf(w, "  %-9s %s has %s\n", s.By, p.Name, has)
	}
}

// Remark writes what an operator should mend.
func Remark(w io.Writer, r *whittle.Remark) {
	about := r.Route
	if about == "" {
		about = "all routes"
	}
	fmt.Fprintf(w, "remark on %s, by %s: %s\n", about, units.Counted(int(r.Count), "request"), r.Text)
}

// Upstream writes the state of an upstream's instances; nothing for a single one that gets
// requests.
func Upstream(w io.Writer, u *whittle.UpstreamStatus) {
	fit := 0
	for _, i := range u.Instances {
		if !i.Unhealthy && !i.Ejected {
			fit++
		}
	}
	if len(u.Instances) == 1 && fit == 1 && u.LookupsFailed == 0 {
		return
	}
	fmt.Fprintf(w, "%s\n", u.URL)
	fmt.Fprintf(w, "  instances %d of %d fit", fit, len(u.Instances))
	if u.Panic {
		fmt.Fprint(w, ", so few that all get requests")
	}
	fmt.Fprintf(w, "; %d ejections, %d requests sent elsewhere, %d checks and %d look-ups failed\n", u.Ejections, u.Elsewhere, u.ChecksFailed, u.LookupsFailed)
	for _, i := range u.Instances {
		state := "ready"
		switch {
		case i.Unhealthy:
			state = "unhealthy"
		case i.Ejected:
			state = "ejected"
		}
		fmt.Fprintf(w, "  %-9s %s, %d under way\n", state, i.Address, i.Running)
	}
}

// Fleet writes a fleet's gateways, and what is wrong with it.
func Fleet(w io.Writer, f *whittle.FleetStatus) {
	leads := "nobody leads"
	if f.Leader != "" {
		leads = f.Leader + " leads"
	}
	fmt.Fprintf(w, "Fleet %s, as %s sees it: %s.\n", f.Name, f.Member, leads)
	for i := range f.Members {
		m := &f.Members[i]
		state := "connected"
		switch {
		case !m.Alive:
			state = "silent"
		case !m.Connected:
			state = "cut off"
		}
		fmt.Fprintf(w, "\n%s\n  %-9s reported %.1f s ago, %s\n", m.Name, state, m.Silent, m.Version)
		for _, r := range m.Routes {
			fmt.Fprintf(w, "  %-9s %g %% in force, generation %d, config %s, %s", r.Route, r.Share.Percent(), r.Generation, r.Config, counted(r.Requests, "request"))
			if r.Lag > 0 {
				fmt.Fprintf(w, ", %s behind", counted(int64(r.Lag), "generation")) //nolint:gosec // a few
			}
			if r.Other {
				fmt.Fprint(w, ", another config than the leader's")
			}
			if r.Trip != "" {
				fmt.Fprintf(w, ", tripped: %s", r.Trip)
			}
			fmt.Fprintln(w)
		}
	}
	if len(f.Wrong) == 0 {
		fmt.Fprintln(w, "\nNothing is wrong.")
		return
	}
	fmt.Fprintln(w)
	for _, text := range f.Wrong {
		fmt.Fprintf(w, "wrong: %s\n", text)
	}
}

// counted writes a number with its noun.
func counted(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return units.Grouped(int(n)) + " " + what + "s"
}

// showGate writes the state of a gate before the next step.
func showGate(w io.Writer, g *whittle.GateStatus) {
	state := "closed"
	switch {
	case g.Open:
		state = "open"
	case g.ByHand:
		state = "needs whittle approve"
	case g.Since.IsZero():
		state = "not asked yet, since the step waits for other things"
	}
	fmt.Fprintf(w, "  gate      %s, before %s: %s", g.Name, gateMoments[g.Before], state)
	if !g.Since.IsZero() {
		fmt.Fprintf(w, "; asked %s since %s", units.Counted(g.Asked, "time"), clock(g.Since))
	}
	if g.Last != "" {
		fmt.Fprintf(w, ", %s", g.Last)
	}
	fmt.Fprintln(w)
}

var gateMoments = map[whittle.GateMoment]string{whittle.GateFirst: "the first users", whittle.GateStep: "the next step", whittle.GateLive: "the end of the shift"}

// Queries writes what the guards on a team's own queries have looked at.
func Queries(w io.Writer, guards []whittle.Meter) {
	for _, g := range guards {
		if strings.HasPrefix(g.Name, "query ") {
			fmt.Fprintf(w, "\n%s: %s\n", g.Name, g.Summary)
		}
	}
}

// countedFrom says since when a ledger counts.
func countedFrom(l *whittle.Ledger) string {
	if l.Since.IsZero() {
		return ""
	}
	text := "; since " + clock(l.Since)
	if l.Gap != nil {
		from, to := clock(l.Gap.From), clock(l.Gap.To)
		text += ", but for " + from + " to " + to
		if from == to {
			text = strings.TrimSuffix(text, from+" to "+to) + "a moment at " + to
		}
		if l.Gap.Gateway != "" {
			text += " at " + l.Gap.Gateway
		}
	}
	return text
}

// clock is a time in the user's time zone.
func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// Detail adds what could still differ, how near the guards are, and what
// was decided when.
func Detail(w io.Writer, r *whittle.RouteStatus) {
	showCoverage(w, r.Verdict.Coverage, "  compares  ", "            ")
	for i := range r.Verdict.Bounds {
		fmt.Fprintf(w, "  bound     %s\n", boundWords(&r.Verdict, &r.Verdict.Bounds[i]))
	}
	for _, g := range r.Guards {
		fmt.Fprintf(w, "  guard     %s\n", g.Summary)
	}
	for i := range r.Gates {
		showGate(w, &r.Gates[i])
	}
	for _, d := range r.Timeline {
		fmt.Fprintf(w, "  %s  %g %% → %g %%  %s (%s)\n", d.At.Local().Format("2006-01-02 15:04:05"), d.From.Percent(), d.To.Percent(), d.Reason, d.By)
	}
}
