package profile

import "slices"

// What a V8 profile must be for NamesInlined.
const (
	// tellsSamples is how many samples of JavaScript one must have to be judged.
	enoughSamples = 20
	// hidesShare of the time, spent at one line that calls, may be a function
	// that was inlined there.
	hidesShare = 0.1
	// endpointsShare is how much of the time the endpoints must be known of: a
	// handler that was inlined into its router is on no stack.
	endpointsShare = 0.5
)

// NamesInlined reports whether a V8 CPU profile with labelled endpoints names inlined
// functions where it matters. Code that V8 optimized before its profiler ran has no
// record of what was inlined. Its time counts for the line of the outermost function,
// and the functions in between are on no stack. The profile names them if two things
// hold: the endpoints of most of the time are known, and no line that calls a function
// has much time of its own. Native code counts for its caller. Node's own modules are
// an exception, because they exist to call it: if nothing else seems to call one of
// them, its caller was inlined. A profile with too few samples does not count.
//
// calls reports whether a line of the service's own may call a JavaScript function;
// line is 0 where it is not known. Lines of libraries and of Node's own modules are
// assumed to.
func (p *Profile) NamesInlined(calls func(f *Function, line int32) bool) bool {
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
	if seen < enoughSamples || ratio(known, total) < endpointsShare {
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
