// Package server starts and stops the servers that a benchmark measures, and
// reports the CPU time and memory that they use, child processes included.
package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"whittle/bench/cputime"
)

// Server is a server that was started here.
type Server struct {
	// Addr is where it responds, host:port. Admin is where it is asked about itself;
	// empty: it said nothing of it.
	Addr, Admin string

	cmd *exec.Cmd
}

var listening = regexp.MustCompile(`^listening public=(\S+)(?: admin=(\S+))?`)

// Start runs a server that says where it listens by a line "listening
// public=ADDR". env is added to ours. It ends with ctx, or by Stop or Kill.
func Start(ctx context.Context, env []string, command ...string) (*Server, error) {
	s := &Server{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	s.cmd.Stderr, s.cmd.Env = os.Stderr, append(os.Environ(), env...)
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	found := listening.FindStringSubmatch(line)
	if found == nil {
		s.Kill()
		return nil, fmt.Errorf("start %s: it said %q in place of where it listens (%w)", command[0], line, err)
	}
	s.Addr, s.Admin = found[1], found[2]
	return s, nil
}

// StartAt runs a server that its arguments make listen on addr, and waits for at most
// 20 s until responses finds nothing missing; nil: until it takes connections.
// log is the file for what it says.
func StartAt(ctx context.Context, addr, log string, responses func(ctx context.Context, addr string) error, env []string, command ...string) (*Server, error) {
	if responses == nil {
		responses = connects
	}
	s := &Server{cmd: exec.CommandContext(ctx, command[0], command[1:]...), Addr: addr}
	said, err := os.Create(log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	defer said.Close()
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = said, said, append(os.Environ(), env...)
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := responses(ctx, addr)
		if err == nil {
			return s, nil
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			s.Stop()
			text, _ := os.ReadFile(log)
			return nil, fmt.Errorf("start %s: no response: %w\n%s", command[0], err, text)
		}
	}
}

func connects(ctx context.Context, addr string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = c.Close() // it was only asked whether somebody is there
	}
	return err
}

// PID is the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Stop ends the server gently, and after 10 s at once.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // how it ends is no part of the measurement
}

// Kill does not wait for what the server has under way.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // how it ends is no part of the measurement
}

// CPU is what the server and its children have spent so far.
func (s *Server) CPU() (sum time.Duration, err error) {
	for _, pid := range family(s.cmd.Process.Pid) {
		d, err := cputime.Of(pid)
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum, nil
}

// RSS is the resident memory of the server and its children, in bytes.
func (s *Server) RSS() (sum float64, ok bool) {
	for _, pid := range family(s.cmd.Process.Pid) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			return 0, false
		}
		one, ok := rssIn(string(text))
		if !ok {
			return 0, false
		}
		sum += one
	}
	return sum, true
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
