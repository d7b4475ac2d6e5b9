//go:build linux

package profile

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/bench/cputime"
	"whittle/e2e/process"
	"whittle/internal/paired"
)

// BenchmarkOverhead reports what whittle profile costs its target: the CPU time
// of a request while it profiles, from its start to its end, over that without
// it, in turns. The process has been hot for a while before. Run it by hand,
// alone on a machine:
//
//	go test ./e2e/profile -run - -bench Overhead -benchtime 1x
func BenchmarkOverhead(b *testing.B) {
	for _, c := range []struct {
		name, method, path string
		start              func(b *testing.B) (p *process.Process, target string)
	}{
		{"Node/counts", http.MethodPost, "/Count", hotNode},
		{"Node/short responses", http.MethodGet, "/", hotNode},
		{"Go/counts", http.MethodPost, countPath, func(b *testing.B) (*process.Process, string) {
			p := counter(b, "count-as-published")
			return p, "http://" + p.Admin
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, target := c.start(b)
			u := user{client: &http.Client{Transport: &http.Transport{}}, method: c.method, url: "http://" + p.Public + c.path, times: 200_000}
			defer u.client.CloseIdleConnections()
			// A profile of five seconds has twice the share of its beginning
			// that one of the default length has.
			const rounds, length = 10, 5 * time.Second
			var off, on []float64
			for b.Loop() {
				u.cost(b, p.Pid(), time.After(length))
				for i := range rounds {
					without := func() { off = append(off, u.cost(b, p.Pid(), time.After(length))) }
					if i%2 == 0 {
						without()
					}
					on = append(on, u.cost(b, p.Pid(), profiling(b, target, length)))
					if i%2 == 1 {
						without()
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

func hotNode(b *testing.B) (*process.Process, string) {
	p := process.Monolith(b, "--inspect-port=0")
	return p, pid(p)
}

// user asks for one thing, again and again.
type user struct {
	client      *http.Client
	method, url string
	times       int // that a count draws
}

// cost is the CPU time that a process needs for one of the requests that are
// sent, one after the other, until over.
func (u *user) cost(b *testing.B, pid int, over <-chan time.Time) float64 {
	b.Helper()
	used := func() time.Duration {
		d, err := cputime.Of(pid)
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	before, n := used(), 0
	for {
		select {
		case <-over:
			return float64(used()-before) / float64(n)
		default:
		}
		n++
		if err := u.ask(); err != nil {
			b.Fatal(err)
		}
	}
}

func (u *user) ask() error {
	req, err := http.NewRequest(u.method, u.url, strings.NewReader(fmt.Sprintf(`{"times": %d}`, u.times)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := u.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// profiling runs whittle profile as it is by default, and says when it has ended.
func profiling(b *testing.B, target string, length time.Duration) <-chan time.Time {
	b.Helper()
	cmd := exec.Command(filepath.Join(built, "whittle"), "profile", target, "--duration", length.String())
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	over := make(chan time.Time, 1)
	go func() {
		if err := cmd.Wait(); err != nil {
			b.Errorf("whittle profile: %v", err)
		}
		over <- time.Now()
	}()
	return over
}
