// Package corpustest runs load plans as they are found in public and compares what whittle sends
// with what the plan's own tool sent: method, target, headers that matter, body, how
// many, in which order for each user, and the waits between them.
//
// A case is a file TOOL/NAME.txtar. Its comment says what the plan is about, with lines
// that are read:
//
//	flags: -e staging        flags of the tool, and of whittle load
//	env: NAME=VALUE          variables of the environment
//	mask: REGEXP => TEXT     what is random in targets, headers and bodies
//	order: none              users cannot be told apart by their connections
//	count: any               how often a request comes depends on time
//	wait: any                the waits are random, or the recording was not made for them
//	note: TEXT               what a note of the report has to have
//	refused: TEXT            what the error has to have, of a plan that does not run
//
// Its files are the plan's folder: plan.yml, plan.json or plan.jmx, and what belongs to
// it. TARGET stands for the server's address, SERVERHOST and SERVERPORT for its parts. The file "sent" is the recording, a line a
// request; a case without one is recorded by -record (see recordCase). Another tool's
// cases go into a folder of its name.
package corpustest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"whittle/internal/fatal"
)

var (
	only   = flag.String("only", "", "cases whose name contains this")
	record = flag.String("record", "", "TOOL=COMMAND: record what the tool sends, where there is no recording")
	again  = flag.Bool("again", false, "with -record: all cases")
)

// TestPlansAreSentAsByTheirTools runs every plan of the corpus and holds what is sent to
// what its own tool sent. None runs and sends something else.
func TestPlansAreSentAsByTheirTools(t *testing.T) {
	t.Parallel()
	all, err := readCases(".")
	fatal.If(t, err)
	var cases []*testCase
	for _, c := range all {
		if strings.Contains(c.Tool+"/"+c.Name, *only) {
			cases = append(cases, c)
		}
	}
	if tool, command, ok := strings.Cut(*record, "="); ok {
		fatal.If(t, recordAll(t.Context(), cases, tool, command))
		return
	}
	outcomes := judgeAll(t.Context(), cases)
	for i, o := range outcomes {
		t.Logf("%-8s %-44s %s", o.Verdict, o.Plan, o.Why)
		switch {
		case o.Verdict == wrong:
			t.Errorf("%s: %s", o.Plan, o.Why)
		case o.Verdict == refused && cases[i].about.refused == "" && !strings.HasPrefix(cases[i].Name, "engine-"):
			t.Errorf("%s is refused, and says nothing of it: %s", o.Plan, o.Why)
		}
	}
	for _, tool := range []string{"artillery", jmeterTool, ""} {
		n, plans := tally(cases, outcomes, tool)
		t.Logf("%-10s %3d plans: %v", tool, plans, n)
		if tool == "" && n[refused]*100 > plans*maxRefused {
			t.Errorf("%d of %d plans are refused; at most %d %% may be", n[refused], plans, maxRefused)
		}
	}
}

func recordAll(ctx context.Context, cases []*testCase, tool, command string) error {
	return inParallel(cases, func(_ int, c *testCase) error {
		if c.Tool != tool || c.sent != nil && !*again || c.about.refused != "" {
			return nil
		}
		return recordCase(ctx, c, command)
	})
}

// inParallel does the same for some cases at once.
func inParallel(cases []*testCase, do func(i int, c *testCase) error) error {
	var g errgroup.Group
	g.SetLimit(4)
	errs := make([]error, len(cases))
	for i, c := range cases {
		g.Go(func() error {
			if err := do(i, c); err != nil {
				errs[i] = fmt.Errorf("%s/%s: %w", c.Tool, c.Name, err)
			}
			return nil // all of them are done, whatever one comes to
		})
	}
	_ = g.Wait() // never an error
	return errors.Join(errs...)
}

// maxRefused is the percentage of plans that may be refused.
const maxRefused = 8

func judgeAll(ctx context.Context, cases []*testCase) []outcome {
	outcomes := make([]outcome, len(cases))
	_ = inParallel(cases, func(i int, c *testCase) error {
		outcomes[i] = judge(ctx, c)
		return nil
	})
	return outcomes
}

// tally counts the outcomes of one tool's plans that have to run, or of all tools'. A plan
// for another engine is refused by name and is none.
func tally(cases []*testCase, outcomes []outcome, tool string) (n map[verdict]int, plans int) {
	n = map[verdict]int{}
	for i, o := range outcomes {
		otherEngine := o.Verdict == refused && strings.HasPrefix(cases[i].Name, "engine-")
		if !otherEngine && (tool == "" || cases[i].Tool == tool) {
			n[o.Verdict]++
			plans++
		}
	}
	return n, plans
}
