package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// A test that takes longer than this is run only for what all the others let live.
const slow = 200 * time.Millisecond

// Tests that have not ended after so many times what they take, and so long at least,
// are stopped. They are run once more, with twice the time; if they do not end either,
// the mutant loops or waits for ever, and has been found.
const (
	patience = 20
	atLeast  = 3 * time.Second
)

// room is a package whose mutants are tried.
type room struct {
	folder string // of the package
	stages []stage
	// program has the tests with the woven mutants, each by its number.
	program string
	woven   map[*mutant]int
}

// stage is a part of a package's tests.
type stage struct {
	args  []string
	limit time.Duration
}

// try tries the mutants that nobody has tried yet.
func (r *report) try(ctx context.Context, w io.Writer, workers int, again bool) error {
	var open []func(*room, string) error
	var done sync.Mutex
	for _, f := range r.Files {
		for _, m := range f.Mutations {
			if m.Status == killed || m.Status == timedOut || m.Status == notViable || m.Status == lived && !again {
				continue
			}
			open = append(open, func(p *room, folder string) error {
				status, err := p.try(ctx, f, m, folder)
				if err != nil {
					return err
				}
				done.Lock()
				defer done.Unlock()
				if m.Status = status; status != killed {
					fmt.Fprintf(w, "%-10s %s:%d: %s\n", strings.ToLower(status), f.path, m.Line, f.survivor(m).line)
				}
				return r.save()
			})
		}
	}
	if len(open) == 0 {
		return nil
	}
	folder, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	p, err := r.prepare(ctx, folder)
	if err != nil {
		return err
	}
	return share(open, workers, func(worker int, job func(*room, string) error) error {
		own := filepath.Join(folder, strconv.Itoa(worker))
		if err := os.MkdirAll(own, 0o700); err != nil {
			return err
		}
		return job(p, own)
	})
}

// share does the jobs with so many workers, and ends with the first error.
func share[J any](jobs []J, workers int, do func(worker int, job J) error) error {
	all, ctx := errgroup.WithContext(context.Background())
	var taken atomic.Int64
	for worker := range workers {
		all.Go(func() error {
			for ctx.Err() == nil {
				n := taken.Add(1)
				if n > int64(len(jobs)) {
					break
				}
				if err := do(worker, jobs[n-1]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// passed finds a test of a package that has passed, and how long it took.
var passed = regexp.MustCompile(`(?m)^--- PASS: (\w+) \(([0-9.]+)s\)`)

// prepare builds the tests with the mutants woven in, and runs them with none of them
// in force. A package that cannot be woven is an error: see loom.
func (r *report) prepare(ctx context.Context, tmp string) (*room, error) {
	p := &room{folder: r.Package, program: filepath.Join(tmp, "woven.test")}
	files, woven, err := r.weave(ctx, tmp)
	if err != nil {
		return nil, fmt.Errorf("weave the mutants in: %w", err)
	}
	p.woven = woven
	if out, err := build(ctx, r.Package, p.program, filepath.Join(tmp, "overlay.json"), files); err != nil {
		return nil, fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	began := time.Now()
	out, err := p.run(ctx, p.program, 0, stage{[]string{"-test.v"}, 10 * time.Minute})
	if err != nil {
		return nil, fmt.Errorf("run the tests without a mutant: %w\n%s", err, out)
	}
	p.stages = stages(out, time.Since(began))
	return p, nil
}

// stages parts the tests that took long, by what they have printed, from the others.
func stages(out []byte, whole time.Duration) []stage {
	var long []string
	rest := whole
	for _, m := range passed.FindAllSubmatch(out, -1) {
		if s, err := strconv.ParseFloat(string(m[2]), 64); err == nil && s > slow.Seconds() {
			long = append(long, string(m[1]))
			rest -= time.Duration(s * float64(time.Second))
		}
	}
	if len(long) == 0 {
		return []stage{{nil, max(atLeast, patience*whole)}}
	}
	names := "^(" + strings.Join(long, "|") + ")$"
	return []stage{
		{[]string{"-test.skip", names}, max(atLeast, patience*rest)},
		{[]string{"-test.run", names}, max(atLeast, patience*whole)},
	}
}

// build builds the package's tests, with other files laid over its own.
func build(ctx context.Context, folder, program, overlay string, files map[string]string) ([]byte, error) {
	over, err := json.Marshal(map[string]map[string]string{"Replace": files})
	if err := errors.Join(err, os.WriteFile(overlay, over, 0o600)); err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", program, "./"+folder).CombinedOutput()
}

// run runs tests in their folder with a woven mutant in force, or with none. Their
// memory is bounded: a mutant may allocate for ever.
func (p *room) run(ctx context.Context, program string, number int, s stage) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limit+10*time.Second)
	defer cancel()
	args := append([]string{"-c", `ulimit -v 8388608; exec "$@"`, "sh", program, "-test.failfast", "-test.timeout", s.limit.String()}, s.args...)
	c := exec.CommandContext(ctx, "sh", args...)
	c.Dir, c.WaitDelay = p.folder, time.Second
	c.Env = append(os.Environ(), inForce+"="+strconv.Itoa(number))
	return c.CombinedOutput()
}

// try says what becomes of a mutant. The source stays as it is: the mutant is laid
// over it, where it is not woven in.
func (p *room) try(ctx context.Context, f *file, m *mutant, tmp string) (string, error) {
	program := p.program
	if p.woven[m] == 0 {
		program = filepath.Join(tmp, "mutant.test")
		over, err := filepath.Abs(f.path)
		changed := filepath.Join(tmp, f.Name)
		if err := errors.Join(err, os.WriteFile(changed, f.with(m), 0o600)); err != nil {
			return "", err
		}
		if _, err := build(ctx, p.folder, program, filepath.Join(tmp, "overlay.json"), map[string]string{over: changed}); err != nil {
			return notViable, ctx.Err()
		}
	}
	for _, s := range p.stages {
		if status := p.pass(ctx, program, p.woven[m], s); status != lived {
			return status, ctx.Err()
		}
	}
	return lived, ctx.Err()
}

// pass runs a stage. What takes too long is run once more.
func (p *room) pass(ctx context.Context, program string, number int, s stage) string {
	for range 2 {
		out, err := p.run(ctx, program, number, s)
		switch {
		case err == nil:
			return lived
		case !bytes.Contains(out, []byte("panic: test timed out after")):
			return killed
		}
		s.limit *= 2
	}
	return timedOut
}
