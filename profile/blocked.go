package profile

import (
	"slices"
	"sort"
	"time"
)

// BlockedFor is the duration from which on the event loop counts as blocked:
// users notice it, and Node's own documentation warns of it.
const BlockedFor = 50 * time.Millisecond

// Blocking is a function that blocked Node's event loop.
type Blocking struct {
	Root     int32 // the outermost own function, or a library's where no own one called it
	Inner    int32 // the own function in which most of it was spent, else Root
	Endpoint string
	Count    int // of stretches of BlockedFor or more
	Sum      time.Duration
	Longest  time.Duration
	// Sure says that no gap of the profiler's looks like it: there were three
	// stretches or more, or one of half a second that was seen again and again.
	// Calls right after one another may look like one such; they keep everyone
	// else waiting as long.
	Sure bool
}

// What one stretch alone must be to be sure.
const (
	sureFor     = 500 * time.Millisecond
	sureSamples = 20
)

// Blocked finds the stretches of time in which one call kept the event loop: consecutive
// samples with the same outermost function of the service or of a library, without an idle one between them, in one
// turn by Turns. Where Turns are not known, two short turns in a row look like one long turn
// if the profiler saw nothing between them, so one or two short stretches prove nothing.
// Without the samples' times nothing is found.
//
// A stretch ends with its turn, even if the next sample comes long after, as on a busy
// machine. It is as long as the CPU time in it, so that the time for which the process waited
// for a core does not count: by MainClock where that was read. Otherwise each sample counts
// for at most two of the profiler's usual intervals, since the profiler samples again as soon
// as the process runs.
func (p *Profile) Blocked() []Blocking {
	all := map[int32]*Blocking{}
	current, turn, spent, began := int32(-1), 0, time.Duration(0), time.Duration(0)
	endpoint, seen, most := "", 0, 2*p.interval()
	inside := map[[2]int32]int64{} // by outermost and nearest own function
	end := func(now time.Duration) {
		if turn < len(p.Turns) {
			now = min(now, p.Turns[turn])
		}
		d := min(spent, now-began)
		if len(p.MainClock) > 0 {
			d = p.surelyUsed(began, now)
		}
		if current >= 0 && d >= BlockedFor {
			b := all[current]
			if b == nil {
				b = &Blocking{Root: current, Inner: current, Endpoint: endpoint}
				all[current] = b
			}
			b.Count++
			b.Sum += d
			b.Longest = max(b.Longest, d)
			b.Sure = b.Sure || b.Count >= 3 || d >= sureFor && seen >= sureSamples
		}
		current = -1
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.At < 0 {
			return nil
		}
		if s.Thread != 0 {
			continue // another thread keeps nobody
		}
		root := p.outermost(s)
		if current >= 0 && p.CategoryOf(s) == Collecting {
			root = current // the collector works for whoever runs
		}
		if now := p.turnAt(s.At); root != current || now != turn {
			end(s.At)
			current, turn, spent, began, endpoint, seen = root, now, 0, s.At, s.Endpoint, 0
		}
		seen++
		spent += min(time.Duration(s.Value), most)
		if own := p.NearestOwn(s); own >= 0 && root >= 0 {
			inside[[2]int32{root, s.Stack[own].Function}] += s.Value
		}
	}
	end(p.Duration)
	var out []Blocking
	for root, b := range all {
		var most int64
		for at, v := range inside {
			if at[0] == root && (v > most || v == most && at[1] < b.Inner) {
				b.Inner, most = at[1], v
			}
		}
		out = append(out, *b)
	}
	sortBy(out, func(b Blocking) (int64, string) { return int64(b.Sum), p.Functions[b.Root].Name })
	return out
}

// turnAt numbers the turns of the event loop by how many ended before them.
func (p *Profile) turnAt(at time.Duration) int {
	return sort.Search(len(p.Turns), func(i int) bool { return p.Turns[i] > at })
}

// interval is the usual time from one sample of the event loop's thread to the next: the
// median.
func (p *Profile) interval() time.Duration {
	var all []time.Duration
	last := time.Duration(-1)
	for i := range p.Samples {
		if s := &p.Samples[i]; s.Thread == 0 {
			if last >= 0 {
				all = append(all, s.At-last)
			}
			last = s.At
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// ClockReading is one of a thread's CPU clock.
type ClockReading struct {
	At   time.Duration // since the profile began
	Used time.Duration
}

// SetMainClock sets MainClock from readings by V8's own clock.
func (p *Profile) SetMainClock(readings []ClockReading) {
	p.MainClock = make([]ClockReading, 0, len(readings))
	for _, r := range readings {
		r.At -= p.Clock
		p.MainClock = append(p.MainClock, r)
	}
}

// usedBetween is what the event loop's thread has used between two moments, by MainClock:
// as much of the time from one reading to the next as of the use between them.
func (p *Profile) usedBetween(from, to time.Duration) time.Duration {
	return p.usedAt(to) - p.usedAt(from)
}

// clockGap is how far apart two readings may be for what lies between them to be as much
// as its part of the time.
const clockGap = 30 * time.Millisecond

// surelyUsed is usedBetween without the ends of the time that lie between two readings
// which a busy machine left far apart.
func (p *Profile) surelyUsed(from, to time.Duration) time.Duration {
	c := p.MainClock
	gap := func(at time.Duration) (before, after time.Duration) {
		n := sort.Search(len(c), func(i int) bool { return c[i].At > at })
		if n == 0 || n == len(c) || c[n].At-c[n-1].At <= clockGap {
			return at, at
		}
		return c[n-1].At, c[n].At
	}
	_, from = gap(from)
	to, _ = gap(to)
	if to <= from {
		return 0
	}
	return p.usedBetween(from, to)
}

func (p *Profile) usedAt(at time.Duration) time.Duration {
	c := p.MainClock
	n := sort.Search(len(c), func(i int) bool { return c[i].At > at })
	switch {
	case n == 0:
		return c[0].Used
	case n == len(c):
		return c[n-1].Used
	}
	before, after := c[n-1], c[n]
	part := float64(at-before.At) / float64(after.At-before.At)
	return before.Used + time.Duration(part*float64(after.Used-before.Used))
}

// outermost gives the own function that is nearest to a stack's root or, where the stack has
// none, the library's: a body parser runs before any own function. -1 where neither is.
func (p *Profile) outermost(s *Sample) int32 {
	if own := p.OutermostOwn(s); own >= 0 {
		return own
	}
	return p.outermostOf(s, Library)
}

// OutermostOwn gives the function of the service's own that is nearest to a stack's
// root, -1 where none is.
func (p *Profile) OutermostOwn(s *Sample) int32 { return p.outermostOf(s, Own) }

func (p *Profile) outermostOf(s *Sample, owner Owner) int32 {
	for _, f := range slices.Backward(s.Stack) {
		if p.Functions[f.Function].Owner == owner {
			return f.Function
		}
	}
	return -1
}
