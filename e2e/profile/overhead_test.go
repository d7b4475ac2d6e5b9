//go:build linux

package profile

import (
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/internal/cputime"
	"whittle/internal/fatal"
	"whittle/internal/paired"
)

// BenchmarkOverhead reports what whittle profile costs its target: the CPU time
// of a request while it profiles, from its start to its end, over that of another
// process of the same program at the same time, which is not profiled. The two take
// turns at being profiled, and have been hot for a while before; what others do on the
// machine befalls both. Run it by hand:
//
//	go test ./e2e/profile -run - -bench Overhead -benchtime 1x
func BenchmarkOverhead(b *testing.B) {
	for _, c := range []struct {
		name, method, path string
		start              func(b *testing.B) (p *process.Process, target string)
		flags              []string
	}{
		{"Node/counts", http.MethodPost, "/Count", hotNode, nil},
		{"Node/short responses", http.MethodGet, "/", hotNode, nil},
		{"Node/short responses, cheap lines", http.MethodGet, "/", hotNode, []string{"--lines", "cheap"}},
		{"Go/counts", http.MethodPost, "/twirp/twirp.carved.Carved/Count", func(b *testing.B) (*process.Process, string) {
			p := counter(b, "count-as-published")
			return p, "http://" + p.Admin
		}, nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			var users [2]*user
			for i := range users {
				p, target := c.start(b)
				users[i] = &user{client: &http.Client{Transport: &http.Transport{}}, pid: p.Pid(), target: target, method: c.method, url: "http://" + p.Public + c.path, times: 200_000}
				defer users[i].client.CloseIdleConnections()
			}
			// A profile of five seconds has twice the share of its beginning
			// that one of the default length has.
			const rounds, length = 10, 5 * time.Second
			var off, on, more []float64 // more: CPU milliseconds for one profile
			for b.Loop() {
				warm := make(chan struct{})
				time.AfterFunc(length, func() { close(warm) })
				costs(b, users, warm)
				for i := range rounds {
					each := costs(b, users, profiling(b, users[i%2].target, length, c.flags...))
					with, without := each[i%2], each[1-i%2]
					on, off = append(on, with.each()), append(off, without.each())
					more = append(more, (with.each()-without.each())*float64(with.requests)/1e6)
				}
			}
			r := paired.Runs(off, on)
			b.ReportMetric(100*(r.Ratio-1), "%CPU")
			b.ReportMetric(100*(r.Low-1), "%CPU-low")
			b.ReportMetric(100*(r.High-1), "%CPU-high")
			slices.Sort(more)
			b.ReportMetric(more[len(more)/2], "ms/profile")
		})
	}
}

func hotNode(b *testing.B) (*process.Process, string) {
	p := process.Monolith(b, "--inspect-port=0")
	return p, pid(p)
}

// user asks a process for one thing, again and again.
type user struct {
	client      *http.Client
	pid         int
	target      string // by which whittle profiles it
	method, url string
	times       int // that a count draws
}

// costs are those of two processes' requests, at the same time.
func costs(b *testing.B, users [2]*user, over <-chan struct{}) (each [2]spent) {
	b.Helper()
	var both sync.WaitGroup
	for i, u := range users {
		both.Go(func() { each[i] = u.cost(b, over) })
	}
	both.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return each
}

// spent is the CPU time that a process spent on some requests.
type spent struct {
	cpu      time.Duration
	requests int
}

func (s spent) each() float64 { return float64(s.cpu) / float64(s.requests) }

// cost is what a process spends on requests, one after the other, until over.
func (u *user) cost(b *testing.B, over <-chan struct{}) spent {
	used := func() time.Duration {
		d, err := cputime.Of(u.pid)
		if err != nil {
			b.Error(err)
		}
		return d
	}
	before, n := used(), 0
	for {
		select {
		case <-over:
			return spent{used() - before, n}
		default:
		}
		n++
		if err := u.ask(); err != nil {
			b.Error(err)
			return spent{}
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

// profiling runs whittle profile, as it is by default but for flags, and says when it has ended.
func profiling(b *testing.B, target string, length time.Duration, flags ...string) <-chan struct{} {
	b.Helper()
	cmd := exec.Command(filepath.Join(built, "whittle"), append([]string{"profile", target, "--duration", length.String()}, flags...)...)
	fatal.If(b, cmd.Start())
	over := make(chan struct{})
	go func() {
		if err := cmd.Wait(); err != nil {
			b.Errorf("whittle profile: %v", err)
		}
		close(over)
	}()
	return over
}
