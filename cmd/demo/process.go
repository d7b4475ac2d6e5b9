package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/child"
)

// startTimeout bounds the time from a process's start to its "listening" line.
const startTimeout = 20 * time.Second

// process is a server that the demo started.
type process struct {
	*child.Process
	name string
}

// String names the process for messages.
func (p *process) String() string {
	return fmt.Sprintf("%s (process %d, %s)", p.name, p.Pid(), p.Public)
}

// stage is where a demo runs: it owns the processes.
type stage struct {
	screen *cmdline.Screen
	root   repository
	work   string   // a folder for configs, state and logs
	ends   []func() // of what was started, the first first
}

// start runs a server, and says so. NAME.log keeps what it says on standard error.
func (s *stage) start(ctx context.Context, name string, argv, env []string) (*process, error) {
	soon, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	begun, err := child.Start(soon, child.Options{Dir: s.work, Env: env, Log: filepath.Join(s.work, name+".log")}, argv...)
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, whittle.Errorf(whittle.Unavailable, "%s: %w", name, err)
	}
	p := &process{begun, name}
	s.ends = append(s.ends, p.Stop)
	s.screen.Say("started %s", p)
	return p, nil
}

// startBuilt is start of a command of the root's own.
func (s *stage) startBuilt(ctx context.Context, name, command string, args, env []string) (*process, error) {
	binary, err := s.root.binary(command)
	if err != nil {
		return nil, err
	}
	return s.start(ctx, name, append([]string{binary}, args...), env)
}

// end ends what was started, the last first.
func (s *stage) end() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}

// ask sends one request of the demo's own.
func ask(ctx context.Context, method, url, media string, body io.Reader) (status int, response []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return 0, nil, whittle.Errorf(whittle.Internal, "make request: %w", err)
	}
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, whittle.Errorf(whittle.Unavailable, "%s %s: %w", method, url, err)
	}
	defer resp.Body.Close()
	response, err = io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return 0, nil, whittle.Errorf(whittle.Unavailable, "%s %s: %w", method, url, err)
	}
	return resp.StatusCode, response, nil
}

// metricOf finds a metric, by its name with its labels, on a Prometheus page.
func metricOf(page, name string) (v float64, ok bool) {
	for line := range strings.Lines(page) {
		if text, is := strings.CutPrefix(line, name+" "); is {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			return v, err == nil
		}
	}
	return 0, false
}
