package main

import (
	"context"
	"fmt"
	"io"

	"whittle/cmdline"

	"whittle"
)

type statusVerb struct {
	remote
	Route string `arg:"" optional:"" help:"Only this route, with its guardrails and time line."`
	JSON  string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (statusVerb) Help() string {
	return `Examples:
  whittle status
  whittle status "POST /Count"
  whittle status --json - | jq '.routes[].evidence.verdict'`
}

// Run prints the routes.
func (v *statusVerb) Run(ctx context.Context, s cmdline.Streams) error {
	client, err := v.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	if v.Route != "" {
		r, err := client.Route(ctx, v.Route)
		if err != nil {
			return err
		}
		if v.JSON != "" {
			return cmdline.WriteJSON(s, v.JSON, r)
		}
		showRoute(s.Out, &r)
		showDetail(s.Out, &r)
		return nil
	}
	all, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if v.JSON != "" {
		return cmdline.WriteJSON(s, v.JSON, all)
	}
	if len(all.Routes) == 0 {
		fmt.Fprintln(s.Out, "No route has a candidate: everything passes through to the monolith.")
	}
	for i := range all.Routes {
		showRoute(s.Out, &all.Routes[i])
	}
	return nil
}

func showRoute(w io.Writer, r *whittle.RouteStatus) {
	held := ""
	if r.Held {
		held = ", held"
	}
	fmt.Fprintf(w, "%s\n", r.Route)
	fmt.Fprintf(w, "  share     %g %% (%s%s)\n", r.Percent, r.Phase, held)
	fmt.Fprintf(w, "  verdict   %s\n", r.Verdict.Summary)
	fmt.Fprintf(w, "  ledger    %s%s\n", r.Ledger.Account(), countedFrom(&r.Ledger))
	if r.Harm.Budget > 0 {
		fmt.Fprintf(w, "  harm      %s\n", r.Harm.Summary)
	}
	fmt.Fprintf(w, "  next      %s\n", r.Next)
}

// countedFrom says from when a ledger's requests are.
func countedFrom(l *whittle.Ledger) string {
	if l.Since.IsZero() {
		return ""
	}
	text := "; since " + clock(l.Since)
	if l.Gap != nil {
		text += ", but for " + clock(l.Gap.From) + " to " + clock(l.Gap.To)
	}
	return text
}

// showDetail adds what could still differ, how near the guards are, and what
// was decided when.
func showDetail(w io.Writer, r *whittle.RouteStatus) {
	showCoverage(w, r.Verdict.Coverage, "  compares  ", "            ")
	for _, b := range r.Verdict.Bounds {
		fmt.Fprintf(w, "  bound     %s\n", b.Summary)
	}
	for _, g := range r.Guards {
		fmt.Fprintf(w, "  guard     %s\n", g.Summary)
	}
	for _, d := range r.Timeline {
		fmt.Fprintf(w, "  %s  %g %% → %g %%  %s (%s)\n", d.At.Local().Format("2006-01-02 15:04:05"), d.From.Percent(), d.To.Percent(), d.Reason, d.By)
	}
}
