package collect

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"

	"whittle/profile"
)

// A function's endpoint is inferred from what was under way whenever it ran. chance
// is how likely that may be if the two have nothing to do with each other, and
// leastSeen how often it must have run.
const (
	chance    = 1e-6
	leastSeen = 5
)

// flights say which endpoints had requests under way, from moment to moment.
type flights struct {
	names []string
	times []float64 // V8's clock, in microseconds
	under []uint64  // from then on: a bit for each of the first 64 endpoints
}

// flights of marks, by endpoints. What is under way when the marks begin is not
// known, and is never inferred from.
func (m *marks) flights(endpoint func(name string) string) *flights {
	f := &flights{}
	bit := map[string]int{}
	numbers := make([]int, len(m.names))
	for i, name := range m.names {
		e := endpoint(name)
		n, ok := bit[e]
		if !ok {
			n = len(f.names)
			bit[e] = n
			f.names = append(f.names, e)
		}
		numbers[i] = n
	}
	if len(f.names) > 64 {
		return f
	}
	counts := make([]int, len(f.names))
	var now uint64
	for i, code := range m.codes {
		n := int(code & nameBits)
		if n < 1 || n > len(numbers) {
			continue
		}
		e := numbers[n-1]
		switch code &^ nameBits {
		case begins:
			counts[e]++
			now |= 1 << e
		case over:
			if counts[e] = max(counts[e]-1, 0); counts[e] == 0 {
				now &^= 1 << e
			}
		default:
			continue
		}
		f.times, f.under = append(f.times, m.times[i]), append(f.under, now)
	}
	if m.cut && len(m.times) > 0 {
		f.times, f.under = append(f.times, m.times[len(m.times)-1]), append(f.under, 0)
	}
	return f
}

// often is how much of the time from one moment to another each endpoint had requests
// under way.
func (f *flights) often(from, to float64) []float64 {
	out := make([]float64, len(f.names))
	for i, under := range f.under {
		end := to
		if i+1 < len(f.times) {
			end = min(to, f.times[i+1])
		}
		if d := end - max(from, f.times[i]); d > 0 {
			for e := range out {
				if under&(1<<e) != 0 {
					out[e] += d / max(to-from, 1)
				}
			}
		}
	}
	return out
}

// at gives what was under way at a moment. The moments come in order.
func (f *flights) at(microseconds float64, from int) (under uint64, next int) {
	for from < len(f.times) && f.times[from] <= microseconds {
		from++
	}
	if from == 0 {
		return 0, 0
	}
	return f.under[from-1], from
}

// ownOn gives the functions of the service's own on a stack, the outermost first, each once.
func ownOn(p *profile.Profile, s *profile.Sample) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		seen := map[int32]bool{}
		for _, at := range slices.Backward(s.Stack) {
			if f := at.Function; p.Functions[f].Owner == profile.Own && !seen[f] {
				seen[f] = true
				if !yield(f) {
					return
				}
			}
		}
	}
}

// infer gives endpoints to samples that have none: to those of a function of the
// service's own that ran only while requests of one endpoint were under way, so often
// that chance does not explain it, the outermost such one; and to V8's collector where those
// of one endpoint alone were, or still were of the one for which its thread worked before.
func (f *flights) infer(p *profile.Profile) {
	if len(f.times) == 0 {
		return
	}
	begin := float64(p.Clock.Microseconds())
	often := f.often(begin, begin+float64(p.Duration.Microseconds()))
	always, seen := map[int32]uint64{}, map[int32]int{}
	under := make([]uint64, len(p.Samples))
	next, thread := 0, int32(0)
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Thread != thread {
			next, thread = 0, s.Thread // whose moments are in an order of their own
		}
		if s.Thread < 0 {
			continue
		}
		under[i], next = f.at(begin+float64(s.At)/float64(time.Microsecond), next)
		if s.Endpoint != "" {
			continue
		}
		for own := range ownOn(p, s) {
			if seen[own] == 0 {
				always[own] = math.MaxUint64
			}
			seen[own]++
			always[own] &= under[i]
		}
	}
	of := map[int32]string{}
	for function, all := range always {
		of[function] = f.only(all, seen[function], often)
	}
	last := &profile.Sample{}
	for i := range p.Samples {
		s := &p.Samples[i]
		if s.Endpoint == "" {
			s.Endpoint = f.inferred(p, s, under[i], of)
		}
		if s.Endpoint == "" && s.Thread == last.Thread && p.CategoryOf(s) == profile.Collecting && f.isUnder(last.Endpoint, under[i]) {
			s.Endpoint = last.Endpoint
		}
		last = s
	}
}

// inferred is the endpoint of a sample by its own functions or, of V8's collector, by what
// was under way. "": it is not known.
func (f *flights) inferred(p *profile.Profile, s *profile.Sample, under uint64, of map[int32]string) string {
	own := int32(-1)
	for own = range ownOn(p, s) {
		if of[own] != "" {
			return of[own]
		}
	}
	if own < 0 && p.CategoryOf(s) == profile.Collecting && bits.OnesCount64(under) == 1 {
		return f.names[bits.TrailingZeros64(under)]
	}
	return ""
}

// isUnder reports whether an endpoint is one of those that were under way.
func (f *flights) isUnder(endpoint string, under uint64) bool {
	e := slices.Index(f.names, endpoint)
	return e >= 0 && e < 64 && under&(1<<e) != 0
}

// only gives the one endpoint of some that chance does not explain. "": there is none, or
// more than one.
func (f *flights) only(all uint64, seen int, often []float64) string {
	e := bits.TrailingZeros64(all)
	if seen < leastSeen || bits.OnesCount64(all) != 1 || e >= len(f.names) || math.Pow(often[e], float64(seen)) >= chance {
		return ""
	}
	return f.names[e]
}
