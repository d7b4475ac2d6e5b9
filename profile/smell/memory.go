package smell

import (
	"fmt"

	"whittle/profile"
)

// The collector's share from which on it is pressure, and the fewest bytes a
// second that explain it.
const (
	collectorShare  = 0.30
	allocationShare = 0.25 // of all allocations, at one line
)

// collector finds pressure on the garbage collector, and the line that makes
// most of what it collects, where allocations were profiled too.
func collector(cpu *profile.Profile, all []*profile.Profile) []Smell {
	var collecting, samples, total int64
	for i := range cpu.Samples {
		s := &cpu.Samples[i]
		switch cpu.CategoryOf(s) {
		case profile.Idle:
			continue
		case profile.Collecting, profile.Allocating:
			collecting += max(s.Objects, 1)
		}
		samples += max(s.Objects, 1)
	}
	for _, part := range cpu.Parts() {
		if part.Category == profile.Collecting || part.Category == profile.Allocating {
			total += part.Value
		}
	}
	share := float64(total) / float64(max(cpu.Total(), 1))
	if share < collectorShare || collecting < minSamples || lowerBound(collecting, samples) < collectorShare/2 {
		return nil
	}
	s := Smell{
		Name: "gc-pressure", Title: "memory is made and thrown away faster than the work needs", Share: share,
		Evidence: fmt.Sprintf("%s of the CPU time goes into allocating and collecting", percent(share)),
		Advice:   "reuse buffers, make slices with their capacity, keep values off the heap; profile allocations for the lines",
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
			if s.Line == 0 {
				s.Line = f.Line
			}
			s.Evidence += fmt.Sprintf("; %s of %.0f MB/s allocated at %s", percent(site.Share),
				float64(p.Total())/1e6/max(p.Duration.Seconds(), 1e-9), s.Where())
			if site.Share >= allocationShare {
				s.Advice = "begin at this line: reuse what it makes, or make it once with its capacity"
			}
		}
	}
	return []Smell{s}
}

// contended finds lines that wait for locks, by the profile of the locks.
func contended(p *profile.Profile) []Smell {
	if p.Duration <= 0 {
		return nil
	}
	var out []Smell
	for _, site := range p.Sites(5) {
		waited := float64(site.Value) / float64(p.Duration) // goroutines that waited, on average
		if waited < 0.10 {
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
