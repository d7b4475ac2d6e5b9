package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// busy is work that takes the same number of steps at each call, none of which
// can begin before the one before it is done.
func busy(rounds int) uint64 {
	x := uint64(rounds) | 1
	for range rounds {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// calibrate returns the rounds of work that take about so long here: by the
// quickest of some tries, the one that was disturbed least.
func calibrate(want time.Duration) int {
	const probe = 2_000_000
	best := time.Duration(1<<63 - 1)
	for range 15 {
		began := time.Now()
		if busy(probe) == 0 {
			continue // it never is; but the work must not be left out
		}
		best = min(best, time.Since(began))
	}
	return int(float64(probe) * float64(want) / float64(best))
}

// serve responds to every request after a number of rounds of work, until ctx ends.
func serve(ctx context.Context, args []string) error {
	f := flag.NewFlagSet(serving, flag.ContinueOnError)
	rounds := f.Int("rounds", 0, "of work for each response")
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = fmt.Fprintln(w, busy(*rounds)) // whoever asked may have gone
	})}
	end := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer end()
	fmt.Printf("listening public=%s\n", l.Addr())
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// server is this binary as a process of its own.
type server struct {
	cmd *exec.Cmd
	url string
}

func startServer(ctx context.Context, rounds int) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this binary: %w", err)
	}
	s := &server{cmd: exec.CommandContext(ctx, self, serving, "-rounds", strconv.Itoa(rounds))}
	s.cmd.Stderr = os.Stderr
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "listening public=")
	if !ok {
		s.stop()
		return nil, fmt.Errorf("start server: it said %q in place of where it listens (%w)", line, err)
	}
	s.url = "http://" + addr + "/"
	return s, nil
}

// stop ends the server gently, and after 10 s at once.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	late := time.AfterFunc(10*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // how it ends is no part of the measurement
}
