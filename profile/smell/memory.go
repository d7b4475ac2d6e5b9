package smell

import (
	"cmp"
	"fmt"
	"slices"

	"whittle/internal/units"
	"whittle/profile"
)

// The collector's share above which it is pressure, and the fewest bytes a second that
// explain it. A sound service that copies all that it reads spends 45 % on a busy
// machine.
const (
	collectorShare  = 0.50 // surely: the lower end of the 95 % interval
	allocationShare = 0.25 // of all allocations, at one line
)

// collector finds pressure on the garbage collector, and the line that makes
// most of what it collects, where allocations were profiled too.
func collector(cpu *profile.Profile, all []*profile.Profile) []Smell {
	memory, whole := collecting(cpu)
	share := float64(memory.value) / float64(max(whole.value, 1))
	if surely, _ := profile.Interval(memory.samples, whole.samples); memory.samples < minSamples || share < collectorShare || surely < collectorShare {
		return nil
	}
	s := Smell{
		Name: "gc-pressure", Title: "memory is allocated and discarded faster than the work needs", Share: share,
		Evidence: fmt.Sprintf("%s of the CPU time goes into allocating and collecting", units.Percent(share)),
		Advice:   "reuse buffers, make slices with their capacity, keep values off the heap",
	}
	if f, share := interrupted(cpu); f >= 0 && share >= allocationShare {
		s.Function, s.File, s.Line = cpu.Functions[f].Name, cpu.Functions[f].File, cpu.Functions[f].Line
		s.Evidence += fmt.Sprintf("; %s of the collector's time falls into %s", units.Percent(share), s.Function)
	}
	for _, p := range all {
		if p.Kind != profile.Allocations {
			continue
		}
		sites := p.Sites(1)
		if p.Runtime == profile.Go && (len(sites) == 0 || sites[0].Share < allocationShare) {
			return nil // a proxy's garbage is its library's: there is no line to mend
		}
		for _, site := range sites {
			f := p.Functions[site.Function]
			s.Function, s.File, s.Line = f.Name, f.File, int(site.Line)
			s.Line = cmp.Or(s.Line, f.Line)
			s.Evidence += fmt.Sprintf("; %s of %.0f MB/s allocated at %s", units.Percent(site.Share),
				float64(p.Total())/1e6/max(p.Duration.Seconds(), 1e-9), s.Where())
			if site.Share >= allocationShare {
				s.Advice = "begin at this line: reuse what it makes, or make it once with its capacity"
			}
		}
	}
	return []Smell{s}
}

// cost is a part of a profile.
type cost struct{ samples, value int64 }

func (c *cost) add(s *profile.Sample) {
	c.samples += max(s.Objects, 1)
	c.value += s.Value
}

// collecting gives what allocating and collecting cost, and what all work did.
// Neither has what Go's collector does on processors that nothing else wants: that
// takes time from nobody, and there is most of it where a service waits for a busy
// machine. Nor what no profiler sees: V8's helpers collect there, and libuv's work.
func collecting(cpu *profile.Profile) (memory, whole cost) {
	for i := range cpu.Samples {
		s := &cpu.Samples[i]
		category := cpu.CategoryOf(s)
		if category == profile.Idle || category == profile.Collecting && marksIdly(cpu, s) || s.Thread < 0 {
			continue
		}
		whole.add(s)
		if category == profile.Collecting || category == profile.Allocating {
			memory.add(s)
		}
	}
	return memory, whole
}

// marksIdly reports whether a sample is of Go's collector on an idle processor.
func marksIdly(cpu *profile.Profile, s *profile.Sample) bool {
	return slices.ContainsFunc(s.Stack, func(f profile.Frame) bool {
		return cpu.Functions[f.Function].Name == "runtime.gcDrainMarkWorkerIdle"
	})
}

// interrupted gives the function of the service's own into which most of the
// time of V8's collector falls, and its share of that: V8 collects in the midst
// of whatever makes the memory. -1: not known.
func interrupted(p *profile.Profile) (function int32, share float64) {
	if p.Runtime != profile.Node {
		return -1, 0
	}
	sums, all := map[int32]int64{}, int64(0)
	running := int32(-1)
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.At < 0 {
			return -1, 0
		}
		if p.CategoryOf(s) != profile.Collecting {
			running = -1
			if own := p.NearestOwn(s); own >= 0 {
				running = s.Stack[own].Function
			}
			continue
		}
		all += s.Value
		if running >= 0 {
			sums[running] += s.Value
		}
	}
	if len(sums) == 0 {
		return -1, 0
	}
	function = profile.Heaviest(sums)
	return function, float64(sums[function]) / float64(max(all, 1))
}

// leastWaiting is how many goroutines wait for a lock at any moment, on average, where it
// is named. Under sixteen requests at once on a busy machine a log's lock has had 0.17,
// since who holds it may lose its core; the locks that cost something have had above 0.8.
const leastWaiting = 0.3

// contended finds lines that wait for locks, by the profile of the locks.
func contended(p *profile.Profile) []Smell {
	if p.Duration <= 0 {
		return nil
	}
	var out []Smell
	for _, site := range p.Sites(5) {
		waited := float64(site.Value) / float64(p.Duration) // goroutines that waited, on average
		if waited < leastWaiting {
			continue
		}
		f := p.Functions[site.Function]
		s := Smell{
			Name: "lock-contention", Title: "goroutines wait for one lock", Function: f.Name, File: f.File, Line: int(site.Line), Share: min(waited, 1),
			Advice: "hold it shorter, split what it guards, or give each worker its own",
		}
		s.Evidence = fmt.Sprintf("%.2f goroutines wait at any moment for the lock that is released at %s", waited, s.Where())
		out = append(out, s)
	}
	return out
}
