package corpustest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle/load"
	"whittle/load/plan"
)

// verdict is what became of one case.
type verdict string

const (
	same    verdict = "same"    // whittle sends what the tool sent
	noted   verdict = "noted"   // the same, and the report says something about the plan
	refused verdict = "refused" // nothing is sent, and the error says why
	wrong   verdict = "wrong"   // something else is sent, or the words are others than the case's
)

// outcome is a verdict with what to say about it.
type outcome struct {
	Plan    string
	Verdict verdict
	Why     string
}

// judge runs a case's plan and compares what is sent with what was recorded.
func judge(ctx context.Context, c *testCase) outcome {
	out := outcome{Plan: c.Tool + "/" + c.Name}
	ran, err := c.run(ctx)
	switch {
	case err != nil:
		return out.ofError(c, err, len(ran.sent))
	case c.about.refused != "":
		out.Verdict, out.Why = wrong, "it runs; wanted is a refusal: "+c.about.refused
		return out
	}
	got, want := c.sequences(ran.sent), c.sequences(c.sent)
	notes := strings.Join(ran.notes, "\n")
	switch {
	case !slices.Equal(got, want):
		out.Verdict, out.Why = wrong, "sent\n"+indented(got)+"wanted\n"+indented(want)
	case !c.about.anyWait && !slices.Equal(ran.waits, waitsOf(c.sent)):
		out.Verdict, out.Why = wrong, fmt.Sprintf("waits %v ms, wanted %v", ran.waits, waitsOf(c.sent))
	case !strings.Contains(notes, c.about.note):
		out.Verdict, out.Why = wrong, fmt.Sprintf("notes %q, wanted %q", notes, c.about.note)
	case notes != "":
		out.Verdict, out.Why = noted, notes
	default:
		out.Verdict = same
	}
	return out
}

// ofError is the outcome of a plan that did not run.
func (o outcome) ofError(c *testCase, err error, sent int) outcome {
	o.Verdict, o.Why = refused, err.Error()
	if sent > 0 || c.about.refused != "" && !strings.Contains(err.Error(), c.about.refused) {
		o.Verdict = wrong
		o.Why = fmt.Sprintf("%d requests sent, and %v; wanted %q", sent, err, c.about.refused)
	}
	return o
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

// run runs the case's plan against a server of its own, its arrivals without the time
// between them.
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
