// Package server starts and stops the servers that a benchmark measures, and
// reports the CPU time and memory that they use, child processes included.
package server

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"whittle/internal/child"
	"whittle/internal/cputime"
)

// Server is a server that was started here.
type Server struct {
	// Addr is where it responds, host:port. Admin is where it is asked about itself;
	// empty: it said nothing of it.
	Addr, Admin string

	*child.Process
}

// Start runs a server that says where it listens by a line "listening
// public=ADDR". env is added to ours. It ends with ctx, or by Stop or Kill.
func Start(ctx context.Context, env []string, command ...string) (*Server, error) {
	p, err := child.Start(ctx, child.Options{Env: env, Output: os.Stderr}, command...)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, p.Kill)
	return &Server{p.Public, p.Admin, p}, nil
}

// StartAt runs a server that its arguments make listen on addr, and waits for at most
// 20 s until responses finds nothing missing; nil: until it takes connections.
// log is the file for what it says.
func StartAt(ctx context.Context, addr, log string, responses func(ctx context.Context, addr string) error, env []string, command ...string) (*Server, error) {
	if responses == nil {
		responses = connects
	}
	p, err := child.Spawn(child.Options{Env: env, Log: log}, command...)
	if err != nil {
		return nil, err
	}
	soon, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := p.Await(soon, func(ctx context.Context) error { return responses(ctx, addr) }); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, p.Kill)
	return &Server{addr, "", p}, nil
}

func connects(ctx context.Context, addr string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = c.Close() // it was only asked whether somebody is there
	}
	return err
}

// CPU is what the server and its children have spent so far.
func (s *Server) CPU() (sum time.Duration, err error) {
	for _, pid := range family(s.Pid()) {
		d, err := cputime.Of(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// Spent is what the server and its children spend meanwhile.
func (s *Server) Spent(meanwhile func() error) (time.Duration, error) {
	before, err := s.CPU()
	if err != nil {
		return 0, err
	}
	if err := meanwhile(); err != nil {
		return 0, err
	}
	after, err := s.CPU()
	return after - before, err
}

// RSS is the resident memory of the server and its children, in bytes.
func (s *Server) RSS() (sum float64, ok bool) {
	for _, pid := range family(s.Pid()) {
		one, ok := RSSOf(pid)
		if !ok {
			return 0, false
		}
		sum += one
	}
	return sum, true
}

// RSSOf is the resident memory of a process alone, in bytes.
func RSSOf(pid int) (float64, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, false
	}
	return rssIn(string(text))
}

func rssIn(status string) (float64, bool) {
	_, rest, ok := strings.Cut(status, "\nVmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(line), " kB"), 64)
	return kib * 1024, ok && err == nil
}

// family returns a process and all that descend from it.
func family(root int) []int {
	all := []int{root}
	for i := 0; i < len(all); i++ {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", all[i]))
		if err != nil {
			continue
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue // the thread has ended in between
			}
			for field := range strings.FieldsSeq(string(text)) {
				if pid, err := strconv.Atoi(field); err == nil {
					all = append(all, pid)
				}
			}
		}
	}
	return all
}

// FreeAddr returns a loopback address that was free a moment ago, for a server
// that cannot say which port it took.
func FreeAddr(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// Self is this binary, which also plays parts.
func Self() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return os.Args[0]
}
