package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"whittle/bench/cputime"
)

// subject is one server under measurement.
type subject struct {
	name    string
	path    string // of the count endpoint
	command []string

	process *exec.Cmd
	url     string
}

var (
	listening = regexp.MustCompile(`^listening public=(\S+)`)
	number    = regexp.MustCompile(`\d+`) // the only one in a response
)

// start runs the server and waits for the line with its address.
func (s *subject) start(ctx context.Context) error {
	s.process = exec.CommandContext(ctx, s.command[0], s.command[1:]...)
	s.process.Stderr = os.Stderr
	s.process.Env = append(os.Environ(), "NODE_ENV=production") // as the monolith runs where it has users
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	if err := s.process.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	found := listening.FindStringSubmatch(line)
	if found == nil {
		s.stop()
		return fmt.Errorf("start %s: it said %q in place of where it listens (%w)", s.name, line, err)
	}
	s.url = "http://" + found[1] + s.path
	return nil
}

// stop ends the server gently, and after 10 s at once.
func (s *subject) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = s.process.Process.Kill() })
	defer late.Stop()
	_ = s.process.Wait() // how it ends is no part of the measurement
}

func stopAll(subjects []*subject) {
	for _, s := range subjects {
		s.stop()
	}
}

// cost sends n requests one after another and gives the CPU-milliseconds that
// the server spent per request.
func (s *subject) cost(ctx context.Context, n int) (float64, error) {
	before, err := cputime.Of(s.process.Process.Pid)
	if err != nil {
		return 0, err
	}
	for range n {
		if err := s.count(ctx); err != nil {
			return 0, err
		}
	}
	after, err := cputime.Of(s.process.Process.Pid)
	if err != nil {
		return 0, err
	}
	return float64(after-before) / float64(n) / float64(time.Millisecond), nil
}

// count asks for one sum, and takes it only if so many draws can have given it.
func (s *subject) count(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, strings.NewReader(fmt.Sprintf(`{"times":%d}`, draws)))
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.name, err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask %s: %w", s.name, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("read response of %s: %w", s.name, err)
	}
	sum, err := strconv.ParseInt(number.FindString(string(text)), 10, 64)
	if err != nil || sum < 49*draws || sum > 51*draws {
		return fmt.Errorf("ask %s: %s %q is not the sum of %d draws", s.name, res.Status, text, draws)
	}
	return nil
}
