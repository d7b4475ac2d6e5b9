// Loadcorpus runs load plans as they are found in public and compares what whittle sends
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
// request; a case without one is recorded by --record (see record.go). Another tool's
// cases go into a folder of its name.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sync/errgroup"

	"whittle/bench/table"
)

func main() { table.Main("load-corpus", run) }

// settings are the flags.
type settings struct {
	folder, only, out string
	record, again     bool
	commands          map[string]string // by tool
}

func run(ctx context.Context, args []string) error {
	s := settings{commands: map[string]string{}}
	f := flag.NewFlagSet("load-corpus", flag.ContinueOnError)
	f.StringVar(&s.folder, "folder", "bench/loadcorpus", "where the cases are")
	f.StringVar(&s.only, "only", "", "cases whose name contains this")
	f.StringVar(&s.out, "out", "out/load-corpus.json", "where the result is written")
	f.BoolVar(&s.record, "record", false, "record what the tools send, where there is no recording")
	f.BoolVar(&s.again, "again", false, "with --record: all cases")
	f.Func("run", "TOOL=COMMAND of a tool, for --record", func(text string) error {
		tool, command, ok := strings.Cut(text, "=")
		if !ok {
			return errors.New("it is of the form TOOL=COMMAND")
		}
		s.commands[tool] = command
		return nil
	})
	if err := f.Parse(args); err != nil {
		return err
	}
	all, err := readCases(s.folder)
	if err != nil {
		return err
	}
	var cases []*testCase
	for _, c := range all {
		if strings.Contains(c.Tool+"/"+c.Name, s.only) {
			cases = append(cases, c)
		}
	}
	if s.record {
		return s.recordAll(ctx, cases)
	}
	return s.compare(ctx, cases)
}

func (s *settings) recordAll(ctx context.Context, cases []*testCase) error {
	return inParallel(cases, func(c *testCase) error {
		command := s.commands[c.Tool]
		if command == "" || c.sent != nil && !s.again || c.about.refused != "" {
			return nil
		}
		return record(ctx, c, command)
	})
}

// inParallel does the same for some cases at once.
func inParallel(cases []*testCase, do func(*testCase) error) error {
	var g errgroup.Group
	g.SetLimit(4)
	errs := make([]error, len(cases))
	for i, c := range cases {
		g.Go(func() error {
			if err := do(c); err != nil {
				errs[i] = fmt.Errorf("%s/%s: %w", c.Tool, c.Name, err)
			}
			return nil // all of them are done, whatever one comes to
		})
	}
	_ = g.Wait() // never an error
	return errors.Join(errs...)
}

// result is what is written for machines. Plans counts those that have to run: a plan
// for another engine is refused by name and is in OtherEngines alone.
type result struct {
	Plans        int       `json:"plans"`
	Same         int       `json:"same"`
	Noted        int       `json:"noted"`
	Refused      int       `json:"refused"`
	Wrong        int       `json:"wrong"`
	OtherEngines int       `json:"other_engines"`
	Cases        []outcome `json:"cases"`
}

func (s *settings) compare(ctx context.Context, cases []*testCase) error {
	outcomes := judgeAll(ctx, cases)
	all := tally(cases, outcomes, "")
	for _, o := range outcomes {
		fmt.Printf("%-8s %-44s %s\n", o.Verdict, o.Plan, strings.ReplaceAll(o.Why, "\n", "\n"+strings.Repeat(" ", 54)))
	}
	fmt.Println()
	for _, tool := range []string{"artillery", "jmeter", ""} {
		r := tally(cases, outcomes, tool)
		name := tool
		if name == "" {
			name = "all"
		}
		fmt.Printf("%-10s %3d plans: %3d same, %3d noted, %3d refused, %3d wrong; %d of other engines refused by name\n",
			name, r.Plans, r.Same, r.Noted, r.Refused, r.Wrong, r.OtherEngines)
	}
	text, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.out, append(text, '\n'), 0o600); err != nil {
		return err
	}
	if all.Wrong > 0 || all.Refused*100 > all.Plans*maxRefused {
		return fmt.Errorf("%d plans are sent otherwise than by their tool, and %d of %d are refused; at most 0 and %d %% may be", all.Wrong, all.Refused, all.Plans, maxRefused)
	}
	return nil
}

// maxRefused is the percentage of plans that may be refused.
const maxRefused = 8

func judgeAll(ctx context.Context, cases []*testCase) []outcome {
	outcomes := make([]outcome, len(cases))
	at := map[*testCase]int{}
	for i, c := range cases {
		at[c] = i
	}
	_ = inParallel(cases, func(c *testCase) error {
		outcomes[at[c]] = judge(ctx, c)
		return nil
	})
	return outcomes
}

// tally counts the outcomes of one tool's plans, or of all.
func tally(cases []*testCase, outcomes []outcome, tool string) result {
	r := result{Cases: []outcome{}}
	for i, o := range outcomes {
		if tool != "" && cases[i].Tool != tool {
			continue
		}
		r.Cases = append(r.Cases, o)
		if o.Verdict == refused && strings.HasPrefix(cases[i].Name, "engine-") {
			r.OtherEngines++
			continue
		}
		r.Plans++
		switch o.Verdict {
		case same:
			r.Same++
		case noted:
			r.Noted++
		case refused:
			r.Refused++
		case wrong:
			r.Wrong++
		}
	}
	return r
}
