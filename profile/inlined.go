package profile

import "slices"

// What a V8 profile must be for TellsInlined.
const (
	// tellsSamples is how many samples of JavaScript one must have to be judged.
	tellsSamples = 20
	// hidesShare of the time, spent at one line that calls, may be a function
	// that was inlined there.
	hidesShare = 0.1
	// endpointsShare is how much of the time the endpoints must be known of: a
	// handler that was inlined into its router is on no stack.
	endpointsShare = 0.5
)

// TellsInlined says whether a CPU profile of V8's, with its endpoints labelled,
// tells inlined functions apart where it matters. What V8 optimized before its
// profiler ran does not know what it inlined: the time counts for the line of
// the outermost function that the inlined one was called from, and all between
// is on no stack. So it tells them where the endpoints of most of the time are
// known, and no line that calls a function has much time of its own. Native code
// counts for who called it, but for Node's own modules, which are there to call
// it: where nobody else seems to, such a one was inlined. A profile with too few
// samples tells nothing.
//
// calls says whether a line of the service's own may call a JavaScript function;
// line is 0 where it is not known. Those of libraries and of Node's own modules
// are taken to.
func (p *Profile) TellsInlined(calls func(f *Function, line int32) bool) bool {
	var total, known int64
	seen, self := 0, map[Frame]int64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		depth := slices.IndexFunc(s.Stack, func(f Frame) bool { return p.Functions[f.Function].Owner != System })
		if depth < 0 {
			continue
		}
		seen++
		total += s.Value
		if s.Endpoint != "" {
			known += s.Value
		}
		if depth == 0 || p.Functions[s.Stack[depth].Function].Owner != Standard {
			self[s.Stack[depth]] += s.Value
		}
	}
	if seen < tellsSamples || ratio(known, total) < endpointsShare {
		return false
	}
	for at, v := range self {
		f := &p.Functions[at.Function]
		if ratio(v, total) >= hidesShare && (f.Owner != Own || calls(f, at.Line)) {
			return false
		}
	}
	return true
}
