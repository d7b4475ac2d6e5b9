package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"whittle/bench/cputime"
	"whittle/internal/child"
	"whittle/profile"
)

// truth is the part of the CPU that is spent below the planted function, by the
// runtime's own tool and without whittle: Go's pprof, or Node's --cpu-prof, which sees
// the threads that run JavaScript.
//
// mix is that of the requests meanwhile: see truthAt.
func (s *service) truth(ctx context.Context, o settings, work string) (share, mix float64, err error) {
	if s.Planted.Share > 0 {
		return s.Planted.Share, 0, nil
	}
	if s.binary != "" {
		return s.truthOfGo(ctx, o)
	}
	folder := filepath.Join(work, "cpu-prof")
	if err := s.under(ctx, o, true, []string{"--cpu-prof", "--cpu-prof-interval=" + truthEvery, "--cpu-prof-dir=" + folder}, func(_ *child.Process, u *users) error {
		mix, err = u.mix(func() error { return sleep(ctx, o.length) })
		return err
	}); err != nil {
		return 0, 0, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.cpuprofile"))
	if err != nil || len(files) == 0 {
		return 0, 0, fmt.Errorf("node --cpu-prof wrote nothing: %w", err)
	}
	var below, all float64
	for _, file := range files {
		if err := s.readV8(file, o.length, &below, &all); err != nil {
			return 0, 0, err
		}
	}
	return below / max(all, 1), mix, nil
}

// truthAt is the endpoint's share, of the planted function's, and for another mix of
// requests: where the machine is busy, fewer of the dear ones are responded to, and not
// as few each time. All that is not planted is the requests', of each as much: without
// the planted line a service's endpoints are alike.
func truthAt(share, mix, now float64) float64 {
	if mix == 0 || now == 0 {
		return share
	}
	below := share * now / mix
	below /= max(below+1-share, 1e-9)
	return below + (1-below)*now/(1+now)
}

// truthEvery is how often Node's --cpu-prof looks, in microseconds: often enough, and
// seldom enough that the looking itself is no part of the process's CPU.
const truthEvery = "5000"

// sleep waits, unless ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readV8 adds up a .cpuprofile: the samples below the function, and all but idle ones.
// Each counts alike: the time between them is the machine's, too.
// What came before the last of the process's time is its start.
func (s *service) readV8(file string, last time.Duration, below, all *float64) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p struct {
		Nodes []struct {
			ID        int
			CallFrame struct{ FunctionName string }
			Children  []int
		}
		Samples    []int
		TimeDeltas []float64
		StartTime  float64
		EndTime    float64
	}
	if err := json.Unmarshal(b, &p); err != nil {
		return err
	}
	name, parent := map[int]string{}, map[int]int{}
	for _, n := range p.Nodes {
		name[n.ID] = n.CallFrame.FunctionName
		for _, c := range n.Children {
			parent[c] = n.ID
		}
	}
	inside := func(id int) bool {
		for ; id != 0; id = parent[id] {
			if name[id] == s.Planted.Function {
				return true
			}
		}
		return false
	}
	is, now := false, p.StartTime
	for i, id := range p.Samples {
		if i < len(p.TimeDeltas) {
			now += p.TimeDeltas[i]
		}
		if name[id] != "(garbage collector)" { // it works in the midst of a call
			is = inside(id)
		}
		if now < p.EndTime-float64(last.Microseconds()) || name[id] == "(idle)" || i+1 >= len(p.TimeDeltas) {
			continue
		}
		*all++
		if is {
			*below++
		}
	}
	return nil
}

func (s *service) truthOfGo(ctx context.Context, o settings) (share, mix float64, err error) {
	err = s.under(ctx, o, true, nil, func(p *child.Process, u *users) error {
		url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.Admin, int(o.length.Seconds()))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		var b []byte
		if mix, err = u.mix(func() error {
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			b, err = io.ReadAll(io.LimitReader(resp.Body, 32<<20))
			return err
		}); err != nil {
			return err
		}
		share, err = s.readPprof(b)
		return err
	})
	return share, mix, err
}

func (s *service) readPprof(b []byte) (float64, error) {
	p, err := pprof.ParseData(b)
	if err != nil {
		return 0, err
	}
	var below, all int64
	for _, sample := range p.Sample {
		if collects(sample) { // for all of them, as much as they do otherwise
			continue
		}
		spent := sample.Value[len(sample.Value)-1]
		all += spent
		if s.isBelow(sample) {
			below += spent
		}
	}
	return float64(below) / float64(max(all, 1)), nil
}

// collects knows the goroutines of Go's garbage collector, which work for no request
// by themselves.
func collects(sample *pprof.Sample) bool {
	if len(sample.Location) == 0 {
		return false
	}
	root := sample.Location[len(sample.Location)-1].Line
	switch root[len(root)-1].Function.Name {
	case "runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge":
		return true
	}
	return false
}

func (s *service) isBelow(sample *pprof.Sample) bool {
	for _, l := range sample.Location {
		for _, line := range l.Line {
			if line.Function.Name == s.Planted.Function {
				return true
			}
		}
	}
	return false
}

// costs measures what each request of a service costs, by the process's own CPU
// clock and alone: in nanoseconds.
func (s *service) costs(ctx context.Context, p *child.Process, u *users) ([]float64, error) {
	const rounds, each = 5, 30
	out := make([]float64, len(s.Load))
	for range rounds {
		for i := range s.Load {
			before, err := cputime.Of(p.Pid())
			if err != nil {
				return nil, err
			}
			for range each {
				if err := u.ask(ctx, p.Public, &s.Load[i]); err != nil {
					return nil, err
				}
			}
			after, err := cputime.Of(p.Pid())
			if err != nil {
				return nil, err
			}
			out[i] += float64(after-before) / (rounds * each)
		}
	}
	return out, nil
}

// dearest reports whether an advice names an endpoint that costs no less than any
// other, but for what chance makes.
func (s *service) dearest(advice string, costs []float64) bool {
	endpoint, ok := strings.CutPrefix(advice, "Carve ")
	endpoint, _, _ = strings.Cut(endpoint, " first: ")
	var named, most float64
	for i, r := range s.Load {
		most = max(most, costs[i])
		if profile.SameEndpoint(endpoint, r.Method+" "+r.Path) {
			named = max(named, costs[i])
		}
	}
	return ok && named >= 0.95*most
}
