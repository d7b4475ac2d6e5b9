//go:build linux

package profile

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/bench/cputime"
	"whittle/e2e/process"
	"whittle/paired"
)

// BenchmarkOverhead reports what whittle profile costs its target: the CPU time
// of the same number of requests with the profiler on, over that without, in
// turns. The first of both is thrown away. Run it by hand, alone on a machine:
//
//	go test ./e2e/profile -run - -bench Overhead -benchtime 1x
func BenchmarkOverhead(b *testing.B) {
	for name, run := range map[string]func(b *testing.B) (target, url string, pid int){
		"Node": func(b *testing.B) (string, string, int) {
			p := process.Monolith(b)
			return pid(p), "http://" + p.Public + "/Count", p.Pid()
		},
		"Go": func(b *testing.B) (string, string, int) {
			p := counter(b, "count-as-published")
			return "http://" + p.Admin, "http://" + p.Public + "/twirp/twirp.carved.Carved/Count", p.Pid()
		},
	} {
		b.Run(name, func(b *testing.B) {
			target, url, pid := run(b)
			const rounds, requests = 10, 100
			var off, on []float64
			for b.Loop() {
				for i := range rounds + 1 {
					without := cost(b, pid, url, requests)
					stop := profiling(b, target)
					with := cost(b, pid, url, requests)
					stop()
					if i > 0 {
						off, on = append(off, without), append(on, with)
					}
				}
			}
			r := paired.Runs(off, on)
			b.ReportMetric(100*(r.Ratio-1), "%CPU")
			b.ReportMetric(100*(r.Low-1), "%CPU-low")
			b.ReportMetric(100*(r.High-1), "%CPU-high")
		})
	}
}

// cost is the CPU time that a process needs to answer some counts.
func cost(b *testing.B, pid int, url string, requests int) float64 {
	b.Helper()
	before, err := cputime.Of(pid)
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for range requests {
		resp, err := client.Post(url, "application/json", strings.NewReader(`{"times": 1000000}`))
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
	after, err := cputime.Of(pid)
	if err != nil {
		b.Fatal(err)
	}
	return float64(after - before)
}

// profiling runs whittle profile until it is stopped: by then it has been on
// for as long as the requests took, because it profiles for an hour.
func profiling(b *testing.B, target string) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	cmd := exec.CommandContext(ctx, filepath.Join(built, "whittle"), "profile", target, "--duration", "1h", "--kinds", "cpu")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it closes what it opened
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _ = cmd.Wait() })
	settle := time.NewTimer(time.Second) // the profiler is on by then
	<-settle.C
	return func() {
		cancel()
		wg.Wait()
	}
}
