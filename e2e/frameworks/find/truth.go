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

	"whittle/internal/child"
	"whittle/internal/cputime"
	"whittle/internal/notify"
	"whittle/profile"
)

// truth is what the runtime's own tool saw, without whittle: Go's pprof, or Node's
// --cpu-prof, which sees the threads that run JavaScript. All but mix are samples.
type truth struct {
	known float64 // instead of all else: the share, where no profile shows it
	below float64 // the planted function's
	rest  float64 // of requests otherwise
	// collects are those of the collector that work for whoever allocates, which was seen
	// so often of the planted function and of all: Go's own goroutines, and V8's main thread
	// next to no other sample.
	collects, allocatesBelow, allocates float64
	nobody                              float64 // Go's scheduler and poller
	// mix is how many responses of the planted endpoint there were for each of another.
	mix float64
}

func (s *service) truth(ctx context.Context, o settings, work string) (t truth, err error) {
	if s.Planted.Share > 0 {
		return truth{known: s.Planted.Share}, nil
	}
	if s.binary != "" {
		return s.truthOfGo(ctx, o)
	}
	folder := filepath.Join(work, "cpu-prof")
	if err := s.under(ctx, o, true, []string{"--cpu-prof", "--cpu-prof-interval=" + truthEvery, "--cpu-prof-dir=" + folder}, func(_ *child.Process, u *users) error {
		t.mix, err = u.mix(func() error { notify.Sleep(ctx, o.whittle.Length); return ctx.Err() })
		return err
	}); err != nil {
		return t, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.cpuprofile"))
	if err != nil || len(files) == 0 {
		return t, fmt.Errorf("node --cpu-prof wrote nothing: %w", err)
	}
	for _, file := range files {
		if err := s.readV8(file, o.whittle.Length, &t); err != nil {
			return t, err
		}
	}
	return t, os.RemoveAll(folder)
}

// add adds samples.
func (t *truth) add(o truth) {
	t.below, t.rest = t.below+o.below, t.rest+o.rest
	t.collects, t.allocatesBelow, t.allocates = t.collects+o.collects, t.allocatesBelow+o.allocatesBelow, t.allocates+o.allocates
}

// share is the endpoint's, of the planted function's, and for another mix of requests:
// where the machine is busy, fewer of the dear ones are responded to, and not as few each
// time. What else requests cost is theirs, of each as much: without the planted line a
// service's endpoints are alike.
func (t *truth) share(now float64) (share float64, samples int64) {
	if t.known > 0 {
		return t.known, 0
	}
	all := t.below + t.rest + t.collects + t.nobody
	if t.mix == 0 || now == 0 {
		return t.below / max(all, 1), int64(all)
	}
	more := now / t.mix
	part := 1.0
	if t.allocates > 0 {
		part = t.allocatesBelow / t.allocates
	}
	dear := t.below*more + t.rest*now/(1+now) + t.collects*part*more
	return dear / max(t.below*more+t.rest+t.collects*(part*more+1-part)+t.nobody, 1), int64(all)
}

// truthEvery is how often Node's --cpu-prof looks, in microseconds: often enough, and
// seldom enough that the looking itself is no part of the process's CPU.
const truthEvery = "5000"

// readV8 adds up a .cpuprofile: the samples below the function, and all others but idle
// ones. Each counts alike: the time between them is the machine's, too.
// What came before the last of the process's time is its start.
func (s *service) readV8(file string, last time.Duration, t *truth) error {
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
	// Where V8 has inlined the function it counts the samples for what called it.
	calls := map[int]bool{}
	for id, of := range name {
		if of == s.Planted.Function {
			calls[parent[id]] = true
		}
	}
	inside := func(id int) bool {
		if calls[id] {
			return true
		}
		for ; id != 0; id = parent[id] {
			if name[id] == s.Planted.Function {
				return true
			}
		}
		return false
	}
	began, now := p.EndTime-float64(last.Microseconds()), p.StartTime
	is, idle, waits := false, true, 0.0 // waits: samples of a collector that came before its request's
	for i, id := range p.Samples {
		if i < len(p.TimeDeltas) {
			now += p.TimeDeltas[i]
		}
		if now < began || i+1 >= len(p.TimeDeltas) {
			continue
		}
		if name[id] == "(garbage collector)" { // it works in the midst of a call
			if idle {
				waits++
			} else {
				t.add(collected(is, 1))
			}
			continue
		}
		if is, idle = inside(id), name[id] == "(idle)"; idle {
			t.collects, waits = t.collects+waits, 0 // nobody's sample is next to it
			continue
		}
		t.add(collected(is, waits))
		waits = 0
		if is {
			t.below++
		} else {
			t.rest++
		}
	}
	return nil
}

// collected are samples of V8's collector that worked in the midst of a call.
func collected(below bool, n float64) truth {
	if below {
		return truth{below: n, allocatesBelow: n, allocates: n}
	}
	return truth{rest: n, allocates: n}
}

func (s *service) truthOfGo(ctx context.Context, o settings) (t truth, err error) {
	err = s.under(ctx, o, true, nil, func(p *child.Process, u *users) error {
		url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", p.Admin, int(o.whittle.Length.Seconds()))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		var b []byte
		if t.mix, err = u.mix(func() error {
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
		return s.readPprof(b, &t)
	})
	return t, err
}

func (s *service) readPprof(b []byte, t *truth) error {
	p, err := pprof.ParseData(b)
	if err != nil {
		return err
	}
	for _, sample := range p.Sample {
		n, below := float64(sample.Value[0]), s.isBelow(sample)
		root := rootOf(sample)
		switch {
		case collectors[root]:
			t.collects += n
			continue
		case below:
			t.below += n
		case strings.HasPrefix(root, "runtime.") || !strings.Contains(root, "."):
			t.nobody += n // in no goroutine of a request's
			continue
		default:
			t.rest += n
		}
		if within(sample, "runtime.mallocgc") {
			t.allocates += n
			if below {
				t.allocatesBelow += n
			}
		}
	}
	return nil
}

// collectors are the goroutines of Go's garbage collector, which work for no request by
// themselves.
var collectors = map[string]bool{"runtime.gcBgMarkWorker": true, "runtime.bgsweep": true, "runtime.bgscavenge": true}

// rootOf is the function at the root of a sample's stack.
func rootOf(sample *pprof.Sample) string {
	if len(sample.Location) == 0 {
		return ""
	}
	root := sample.Location[len(sample.Location)-1].Line
	return root[len(root)-1].Function.Name
}

func (s *service) isBelow(sample *pprof.Sample) bool { return within(sample, s.Planted.Function) }

// within reports whether a function is on a sample's stack.
func within(sample *pprof.Sample, function string) bool {
	for _, l := range sample.Location {
		for _, line := range l.Line {
			if line.Function.Name == function {
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
