package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"whittle/cmdline"

	"whittle"
)

type diffsVerb struct {
	remote
	Route string `arg:"" help:"The route, as the config names it: \"POST /Count\"."`
	JSON  string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (diffsVerb) Help() string {
	return `Exits with status 1 while the verdict is DIFFERENT, so that a script can stop there.

Examples:
  whittle diffs "POST /Count"
  whittle diffs "GET /users/{id}" --json - | jq '.findings[].path'`
}

// Run prints the findings of one route.
func (v *diffsVerb) Run(ctx context.Context, s cmdline.Streams) error {
	client, err := v.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := client.Route(ctx, v.Route)
	if err != nil {
		return err
	}
	if v.JSON != "" {
		if err := cmdline.WriteJSON(s, v.JSON, r.Verdict); err != nil {
			return err
		}
	} else {
		showFindings(s.Out, &r.Verdict)
	}
	if r.Verdict.State == whittle.Different {
		return whittle.Errorf(whittle.FallsShort, "%s: the candidate is DIFFERENT", r.Route)
	}
	return nil
}

func showFindings(w io.Writer, v *whittle.Verdict) {
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
	for _, b := range v.Bounds {
		fmt.Fprintf(w, "\nWhat could still differ: %s\n", b.Summary)
	}
}

func showFinding(w io.Writer, f *whittle.Finding) {
	standing := "suspected"
	switch {
	case f.Expected != "":
		standing = "expected: " + f.Expected
	case f.Decided:
		standing = fmt.Sprintf("shown after %d exchanges", f.DecidedAt)
	}
	fmt.Fprintf(w, "\n%s (%s)\n  %s\n", strings.TrimSpace(string(f.Kind)+" "+f.Path), standing, f.Summary)
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
		from, to = placed(s.MonolithValue, s.MonolithAround), placed(s.CandidateValue, s.CandidateAround)
	}
	fmt.Fprintf(w, "             monolith  %s\n             candidate %s\n", from, to)
}

// placed is a value with what stands around it.
func placed(value, around string) string {
	if around == "" || around == value {
		return value
	}
	return value + "   in " + around
}

// showCoverage lists the fields that are not compared by value, one a line.
func showCoverage(w io.Writer, c *whittle.Coverage, first, next string) {
	if c == nil {
		return
	}
	most := ""
	if c.AtLeast {
		most = "at least "
	}
	fmt.Fprintf(w, "%s%s%d by value, %d by form, %d not compared\n", first, most, c.ByValue, len(c.ByForm), len(c.NotCompared))
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
