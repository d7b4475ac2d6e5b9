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
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/plan"
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
	tool, command, recording := strings.Cut(*record, "=")
	verdicts, why := make([]verdict, len(cases)), make([]string, len(cases))
	var g errgroup.Group
	g.SetLimit(4)
	for i, c := range cases {
		g.Go(func() (err error) {
			if !recording {
				verdicts[i], why[i] = judge(t.Context(), c)
			} else if c.Tool == tool && (c.sent == nil || *again) && c.about.refused == "" {
				if err = recordCase(t.Context(), c, command); err != nil {
					err = fmt.Errorf("%s/%s: %w", c.Tool, c.Name, err)
				}
			}
			return err
		})
	}
	fatal.If(t, g.Wait())
	n, plans := map[string]map[verdict]int{"artillery": {}, jmeterTool: {}}, 0
	for i, c := range cases {
		v, otherEngine := verdicts[i], verdicts[i] == refused && strings.HasPrefix(c.Name, "engine-")
		t.Logf("%-8s %s/%-44s %s", v, c.Tool, c.Name, why[i])
		switch {
		case v == wrong:
			t.Errorf("%s/%s: %s", c.Tool, c.Name, why[i])
		case v == refused && c.about.refused == "" && !otherEngine:
			t.Errorf("%s/%s is refused, and says nothing of it: %s", c.Tool, c.Name, why[i])
		}
		if !otherEngine { // which is refused by name, and is no plan that has to run
			n[c.Tool][v]++
			plans++
		}
	}
	t.Logf("%d plans: %v", plans, n)
	if all := n["artillery"][refused] + n[jmeterTool][refused]; all*100 > plans*maxRefused {
		t.Errorf("%d of %d plans are refused; at most %d %% may be", all, plans, maxRefused)
	}
}

// maxRefused is the percentage of plans that may be refused.
const maxRefused = 8

// verdict is what became of one case.
type verdict string

const (
	same    verdict = "same"    // whittle sends what the tool sent
	noted   verdict = "noted"   // the same, and the report says something about the plan
	refused verdict = "refused" // nothing is sent, and the error says why
	wrong   verdict = "wrong"   // something else is sent, or the words are others than the case's
)

// judge runs a case's plan and compares what is sent with what was recorded. It says why, or
// what the report says about the plan.
func judge(ctx context.Context, c *testCase) (is verdict, why string) {
	ran, err := c.run(ctx)
	says := c.about.refused
	switch {
	case err != nil && (len(ran.sent) > 0 || !strings.Contains(err.Error(), says)):
		return wrong, fmt.Sprintf("%d requests sent, and %v; wanted %q", len(ran.sent), err, says)
	case err != nil:
		return refused, err.Error()
	case says != "":
		return wrong, "it runs; wanted is a refusal: " + says
	}
	got, want := c.sequences(ran.sent), c.sequences(c.sent)
	notes := strings.Join(ran.notes, "\n")
	switch {
	case !slices.Equal(got, want):
		return wrong, "sent\n" + indented(got) + "wanted\n" + indented(want)
	case !c.about.anyWait && !slices.Equal(ran.waits, waitsOf(c.sent)):
		return wrong, fmt.Sprintf("waits %v ms, wanted %v", ran.waits, waitsOf(c.sent))
	case !strings.Contains(notes, c.about.note):
		return wrong, fmt.Sprintf("notes %q, wanted %q", notes, c.about.note)
	case notes != "":
		return noted, notes
	}
	return same, ""
}

func indented(lines []string) string {
	return "\t" + strings.ReplaceAll(strings.TrimSuffix(strings.Join(lines, "-\n"), "\n"), "\n", "\n\t") + "\n"
}

// ran is what a run did.
type ran struct {
	sent  []request
	waits []string // of each user that waits, in steps of 100 ms
	notes []string
}

// run runs the case's plan against a server of its own, its arrivals at once.
func (c *testCase) run(ctx context.Context) (out ran, err error) {
	folder, err := os.MkdirTemp("", "loadcorpus")
	if err != nil {
		return out, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s := newServer(c.Tool)
	defer s.Close()
	if err := c.unpack(folder, s.URL); err != nil {
		return out, err
	}
	w, target, err := c.workload(folder, s.URL)
	if err != nil {
		return out, err
	}
	p, err := w.Read()
	if err != nil {
		return out, err
	}
	atOnce(p)
	pauses := newPauses()
	_, err = load.Run(ctx, p, load.Options{Target: target, MaxLate: time.Hour, OnResult: pauses.add, Seed: 1})
	out.sent = s.requests()
	if err != nil {
		return out, err
	}
	out.waits, out.notes = listed(pauses.of), p.Notes
	return out, nil
}

// workload is what the case's flags say.
func (c *testCase) workload(folder, url string) (w load.Workload, target string, err error) {
	w = load.Workload{Plan: filepath.Join(folder, c.plan()), Properties: map[string]string{}}
	w.Getenv = c.getenv
	flags := c.about.flags
	for len(flags) > 1 {
		name, value := flags[0], strings.ReplaceAll(flags[1], "TARGET", url)
		flags = flags[2:]
		switch name {
		case "-e", "--environment":
			w.Environment = value
		case "-t", "--target":
			target, w.Target = value, value
		case "--variables":
			w.Variables = value
		case "--overrides":
			w.Overrides = value
		case "--config":
			w.Config = filepath.Join(folder, value)
		case "--scenario-name":
			w.Scenario = value
		case "-J", "--property":
			property, v, _ := strings.Cut(value, "=")
			w.Properties[property] = v
		default:
			return w, "", fmt.Errorf("the flag %s is not known to the corpus", name)
		}
	}
	return w, target, nil
}

// getenv is the environment that plans see: the case's own.
func (c *testCase) getenv(name string) string {
	for _, pair := range c.about.env {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v
		}
	}
	return ""
}

// atOnce keeps how many users arrive and takes the time between them away.
func atOnce(p *plan.Plan) {
	for i := range p.Phases {
		ph := &p.Phases[i]
		*ph = plan.Phase{Count: int(ph.Planned()), HasCount: true, Duration: time.Millisecond}
	}
}

// pauses notes how long each user waited between its requests, by when they were due.
type pauses struct {
	mu   sync.Mutex
	done map[int64]time.Time
	of   map[int64][]int
}

func newPauses() *pauses { return &pauses{done: map[int64]time.Time{}, of: map[int64][]int{}} }

func (p *pauses) add(r load.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if before, ok := p.done[r.User]; ok {
		if wait := rounded(r.Intended.Sub(before)); wait > 0 {
			p.of[r.User] = append(p.of[r.User], wait)
		}
	}
	p.done[r.User] = r.Done
}

// waitsOf are the waits of each user that was recorded.
func waitsOf(sent []request) []string {
	of := map[int64][]int{}
	for _, q := range sent {
		if q.Wait > 0 {
			of[int64(q.User)] = append(of[int64(q.User)], q.Wait)
		}
	}
	return listed(of)
}

func listed(waits map[int64][]int) (out []string) {
	for _, of := range waits {
		out = append(out, fmt.Sprint(of))
	}
	slices.Sort(out)
	return out
}

// How the plans of a folder are run by their own tool: a command is given by -record
// TOOL=COMMAND, and the case's flags and the plan follow it.
//
// To record: install the tool in the version that its folder's README names, away from
// this repository, and
//
//	go test ./load/corpustest -record artillery='/path/to/artillery run'
//	go test ./load/corpustest -record jmeter='java -jar /path/to/bin/ApacheJMeter.jar -n -t'
//
// which runs the cases that have no recording; -again records the others anew.
const recordTimeout = 3 * time.Minute

// recordCase runs the tool on a case's plan and writes down what it sent.
func recordCase(ctx context.Context, c *testCase, command string) error {
	folder, err := os.MkdirTemp("", "loadcorpus")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s := newServer(c.Tool)
	defer s.Close()
	if err := c.unpack(folder, s.URL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	var args []string
	for _, f := range c.about.flags {
		args = append(args, strings.ReplaceAll(f, "TARGET", s.URL))
	}
	parts := strings.Fields(command)
	cmd := exec.CommandContext(ctx, parts[0], append(append(parts[1:], args...), c.plan())...) //nolint:gosec // it is what the caller asks for
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), c.about.env...)
	said, err := cmd.CombinedOutput()
	sent := s.requests()
	if err != nil && len(sent) == 0 {
		// What the tool itself does not run has no requests; its words are for whoever records.
		fmt.Printf("%s/%s: %v\n%s\n", c.Tool, c.Name, err, said[max(0, len(said)-600):])
	}
	return c.write(sent)
}
