package profile

import "time"

// BlockedFor is the stretch from which on the event loop counts as blocked: what
// a user feels, and about what Node's own documentation warns of.
const BlockedFor = 50 * time.Millisecond

// Blocking is what one of the service's functions kept Node's event loop with.
type Blocking struct {
	Root     int32 // the function that the event loop called
	Inner    int32 // the one of the service's own in which most of it was spent
	Endpoint string
	Count    int // of stretches of BlockedFor or more
	Sum      time.Duration
	Longest  time.Duration
}

// Blocked finds stretches of time in which one call from the event loop kept
// it: consecutive samples with the same outermost own function, without an idle
// one between them. Two short turns in a row look like a long one only if the
// profiler saw nothing between them; so one or two stretches prove nothing.
// Without the samples' times nothing is found.
func (p *Profile) Blocked() []Blocking {
	all := map[int32]*Blocking{}
	current, began, last := int32(-1), time.Duration(0), time.Duration(0)
	endpoint := ""
	inside := map[[2]int32]int64{} // by outermost and nearest own function
	end := func(at time.Duration) {
		if d := at - began; current >= 0 && d >= BlockedFor {
			b := all[current]
			if b == nil {
				b = &Blocking{Root: current, Inner: current, Endpoint: endpoint}
				all[current] = b
			}
			b.Count++
			b.Sum += d
			b.Longest = max(b.Longest, d)
		}
		current = -1
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.At < 0 {
			return nil
		}
		root := p.outermostOwn(s)
		if current >= 0 && p.CategoryOf(s) == Collecting {
			root = current // the collector works for whoever runs
		}
		if root != current {
			end(s.At)
			current, began, endpoint = root, s.At, s.Endpoint
		}
		if own := p.nearestOwn(s); own >= 0 && root >= 0 {
			inside[[2]int32{root, s.Stack[own].Function}] += s.Value
		}
		last = s.At
	}
	end(last)
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

// outermostOwn gives the own function nearest to the root, -1 where none is.
func (p *Profile) outermostOwn(s *Sample) int32 {
	for i := len(s.Stack) - 1; i >= 0; i-- {
		if p.Functions[s.Stack[i].Function].Owner == Own {
			return s.Stack[i].Function
		}
	}
	return -1
}
