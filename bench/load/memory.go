package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"whittle/bench/server"
	"whittle/internal/table"
)

// memory measures what a virtual user takes, and whether a long run's memory
// stays what it was.
func memory(ctx context.Context, s settings, addr string, conclude adder) error {
	few, err := peakRSS(ctx, s, 100)
	if err != nil {
		return err
	}
	many, err := peakRSS(ctx, s, 100+s.users)
	if err != nil {
		return err
	}
	conclude(ours, "memory_per_user", float64(many-few)/1024/float64(s.users), "KiB")
	first, last, err := steadyRSS(ctx, s, addr)
	if err != nil {
		return err
	}
	// Memory follows the most users that were ever under way: where a busy
	// machine stood still and they piled up, it rises without a leak.
	most, err := mostInFlight(filepath.Join(s.folder, "steady.json"))
	if err != nil {
		return err
	}
	conclude(ours, "users_in_flight_most", float64(most), "n")
	conclude(ours, "rss_first_quarter", first/(1<<20), "MiB")
	conclude(ours, "rss_last_quarter", last/(1<<20), "MiB")
	conclude(ours, "rss_last_to_first_quarter", last/first, "x")
	return nil
}

// peakRSS is the most memory, in bytes, of a run with so many virtual users
// waiting at once, each on a connection of its own.
func peakRSS(ctx context.Context, s settings, users int) (int64, error) {
	h, err := hold(ctx)
	if err != nil {
		return 0, err
	}
	defer h.end()
	plan := filepath.Join(s.folder, "held.yml")
	text := fmt.Sprintf(`config: {target: "http://%s", phases: [{duration: 2, arrivalCount: %d}], http: {timeout: 4}}
scenarios: [{flow: [{post: {url: /, json: {n: "{{ $randomNumber(1, 9) }}"}}}]}]
`, h.Addr(), users)
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		return 0, fmt.Errorf("write plan: %w", err)
	}
	cmd := exec.CommandContext(ctx, s.whittle, "load", plan, "--max-late=1h")
	said, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) { // 1 says that there was no response
		return 0, fmt.Errorf("run whittle: %w\n%s", err, said)
	}
	if !bytes.Contains(said, []byte(fmt.Sprintf("timeout: %d", users))) {
		return 0, fmt.Errorf("not all of %d users waited for their responses:\n%s", users, said)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, fmt.Errorf("no memory figures from this system")
	}
	return usage.Maxrss * 1024, nil
}

// holder accepts connections and never responds.
type holder struct {
	net.Listener
	wg sync.WaitGroup
}

func hold(ctx context.Context) (*holder, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	h := &holder{Listener: l}
	h.wg.Go(func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			_ = c.Close() // whoever waited has given up
		}
	})
	return h, nil
}

func (h *holder) end() {
	_ = h.Close() // it fails only where it was closed before
	h.wg.Wait()
}

// steadyRSS follows the memory of a run at the fixed rate, and gives its
// medians, in bytes, over the first and the last quarter.
func steadyRSS(ctx context.Context, s settings, addr string) (first, last float64, err error) {
	plan := filepath.Join(s.folder, "steady.yml")
	text := fmt.Sprintf("config: {target: \"http://%s\", phases: [{duration: %d, arrivalRate: %d}], http: {pool: %d}}\nscenarios: [{flow: [{get: {url: /}}]}]\n",
		addr, int(s.steady.Seconds()), s.rate, s.conns)
	if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
		return 0, 0, fmt.Errorf("write plan: %w", err)
	}
	cmd := exec.CommandContext(ctx, s.whittle, "load", plan, "--max-late=1h", "--json", filepath.Join(s.folder, "steady.json"))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return 0, 0, fmt.Errorf("run whittle: %w", err)
	}
	var seen []float64
	for range int(s.steady / (250 * time.Millisecond)) {
		time.Sleep(250 * time.Millisecond)
		if b, ok := server.RSSOf(cmd.Process.Pid); ok {
			seen = append(seen, b)
		}
	}
	if err := cmd.Wait(); err != nil {
		return 0, 0, fmt.Errorf("run whittle: %w\n%s", err, said.Bytes())
	}
	first, last, ok := table.Quarters(seen)
	if !ok {
		return 0, 0, errors.New("the memory of whittle could not be followed")
	}
	return first, last, nil
}

// mostInFlight reads out of whittle's report how many users it saw under way at
// once.
func mostInFlight(path string) (most int64, err error) {
	r, err := readReport(path)
	if err != nil {
		return 0, err
	}
	for i := range r.Series {
		most = max(most, r.Series[i].InFlight)
	}
	return most, nil
}
