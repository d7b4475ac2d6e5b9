package profile

import "time"

// BlockedFor is the duration from which on the event loop counts as blocked:
// users notice it, and Node's own documentation warns of it.
const BlockedFor = 50 * time.Millisecond

// Blocking is a function of the service that blocked Node's event loop.
type Blocking struct {
	Root     int32 // the function that the event loop called
	Inner    int32 // the one of the service's own in which most of it was spent
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

// Blocked finds stretches of time in which one call from the event loop kept
// it: consecutive samples with the same outermost own function, without an idle
// one between them. Two short turns in a row look like a long one only if the
// profiler saw nothing between them, and their turns are not distinguished; so one or two
// short stretches prove nothing.
// Without the samples' times nothing is found. A stretch is as long as what was
// spent in it, so that time in which the process waited for a core is not the
// call's (see CapTotal).
func (p *Profile) Blocked() []Blocking {
	all := map[int32]*Blocking{}
	current, turn, spent := int32(-1), int32(0), time.Duration(0)
	endpoint, seen := "", 0
	inside := map[[2]int32]int64{} // by outermost and nearest own function
	end := func() {
		if d := spent; current >= 0 && d >= BlockedFor {
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
		root := p.OutermostOwn(s)
		if current >= 0 && p.CategoryOf(s) == Collecting {
			root = current // the collector works for whoever runs
		}
		if root != current || s.Turn != turn {
			end()
			current, turn, spent, endpoint, seen = root, s.Turn, 0, s.Endpoint, 0
		}
		seen++
		spent += time.Duration(s.Value)
		if own := p.nearestOwn(s); own >= 0 && root >= 0 {
			inside[[2]int32{root, s.Stack[own].Function}] += s.Value
		}
	}
	end()
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

// OutermostOwn gives the function of the service's own that is nearest to a stack's
// root, -1 where none is.
func (p *Profile) OutermostOwn(s *Sample) int32 {
	for i := len(s.Stack) - 1; i >= 0; i-- {
		if p.Functions[s.Stack[i].Function].Owner == Own {
			return s.Stack[i].Function
		}
	}
	return -1
}
