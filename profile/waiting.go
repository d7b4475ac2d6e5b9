package profile

import (
	"slices"
	"time"
)

// waiting is the name of what a thread is in that stands still within a call.
const waiting = "(waiting)"

// What a stretch of samples must be for that: as many as the profiler takes of a thread
// that stands still, and next to no CPU time.
const (
	waitingSamples = 3
	waitingDensity = 0.5  // of the samples that there may be; a thread that waits for a core has few
	waitingUse     = 0.10 // of the time
)

// MarkWaiting finds where the event loop's thread stood still in a call, as in
// Atomics.wait or while another program ran: V8 sees these stacks as often as others,
// and MainClock says that they used nothing. They become idle, below the function that
// waited. A thread that waits for a core is not looked at meanwhile, and so is not meant.
// Without MainClock nothing is known, and nothing is marked.
func (p *Profile) MarkWaiting() {
	if len(p.MainClock) < 2 {
		return
	}
	every := p.interval()
	wait := p.waiter()
	mark := func(from, to int) {
		span := p.Samples[to].At - p.Samples[from].At
		seen := to - from
		if seen+1 < waitingSamples || span < BlockedFor/2 || float64(seen)*float64(every) < waitingDensity*float64(span) ||
			float64(p.usedBetween(p.Samples[from].At, p.Samples[to].At)) > waitingUse*float64(span) {
			return
		}
		for i := from; i <= to; i++ {
			wait(&p.Samples[i])
		}
	}
	first := -1
	for i := range p.Samples {
		s := &p.Samples[i]
		if first >= 0 && (s.Thread != 0 || len(s.Stack) == 0 || s.Stack[0] != p.Samples[first].Stack[0]) {
			mark(first, i-1)
			first = -1
		}
		if first < 0 && p.mayWait(s) {
			first = i
		}
	}
	if first >= 0 {
		mark(first, len(p.Samples)-1)
	}
}

// waiter gives the function that makes a sample one of a call that waits.
func (p *Profile) waiter() func(*Sample) {
	at := int32(-1)
	return func(s *Sample) {
		if at < 0 {
			at = p.AddFunction(waiting, Idle)
		}
		s.Stack, s.Value = append([]Frame{{Function: at}}, s.Stack...), 0
	}
}

// What a sample's thread must have used around it to be at work: the part of a time that
// is short next to a sample, and long next to the readings of the clock.
const (
	stillAround = 3 * time.Millisecond
	stillUse    = 0.20
)

// MarkStill finds the samples of a worker thread in which it stood still in a call, as a
// pool's workers do in Atomics.wait: V8 takes these as often as others. Each is judged by
// itself, for which MainClock is that of the worker, and was read every millisecond or so.
// Where it was read less often, as on a machine that is busy, a sample counts as work.
func (p *Profile) MarkStill() {
	if len(p.MainClock) < 2 {
		return
	}
	wait := p.waiter()
	first, last := p.MainClock[0].At, p.MainClock[len(p.MainClock)-1].At
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.At-stillAround/2 < first || s.At+stillAround/2 > last || len(s.Stack) == 0 || p.CategoryOf(s) == Idle || p.CategoryOf(s) == Collecting {
			continue
		}
		if used := p.usedBetween(s.At-stillAround/2, s.At+stillAround/2); float64(used) < stillUse*float64(stillAround) {
			wait(s)
		}
	}
}

// mayWait reports whether a sample may be of a call of the service's own that waits. The
// collector waits for its helpers, which is no call's.
func (p *Profile) mayWait(s *Sample) bool {
	if s.Thread != 0 || s.At < 0 || len(s.Stack) == 0 {
		return false
	}
	category := p.CategoryOf(s)
	return category != Idle && category != Collecting && p.NearestOwn(s) >= 0
}

// Waits gives what MarkWaiting marked as a profile of its own: of the event loop's time,
// with the rest of it at no function of the service's. nil: there is nothing.
func (p *Profile) Waits() *Profile {
	out := &Profile{Kind: Waits, Runtime: p.Runtime, Began: p.Began, Duration: p.Duration, Service: p.Service}
	out.Functions = slices.Clone(p.Functions)
	otherwise, found := out.AddFunction("(otherwise)", Work), false
	for i := range p.Samples {
		s := p.Samples[i]
		if s.Thread != 0 {
			continue
		}
		if s.IsWaiting(p) {
			s.Stack, found = s.Stack[1:], true
		} else {
			s.Stack = []Frame{{Function: otherwise}}
		}
		s.Value, s.Objects = int64(time.Millisecond), 1
		out.Samples = append(out.Samples, s)
	}
	if !found {
		return nil
	}
	return out
}

// IsWaiting reports whether MarkWaiting has marked a sample.
func (s *Sample) IsWaiting(p *Profile) bool {
	return len(s.Stack) > 1 && p.Functions[s.Stack[0].Function].Name == waiting
}
