package profile

import "slices"

// Inlining is what a V8 profile shows of the functions that V8 has inlined.
type Inlining int

// What Inlined says.
const (
	// Untold says that there are too few samples to tell.
	Untold Inlining = iota
	// Named says that nothing shows that functions are hidden.
	Named
	// Hidden says that functions are hidden where much of the time is, beyond chance.
	Hidden
)

// What Inlined goes by.
const (
	// enoughSamples is how many samples of JavaScript there must be to tell anything.
	enoughSamples = 5
	// hidesShare of the time, spent at one line that calls, may be a function
	// that was inlined there.
	hidesShare = 0.1
	// endpointsShare is how much of the time the endpoints must be known of: a
	// handler that was inlined into its router is on no stack.
	endpointsShare = 0.5
)

// Inlined reports whether a V8 CPU profile with labelled endpoints names inlined
// functions where it matters. Code that V8 optimized before its profiler ran has no
// record of what was inlined. Its time counts for the line of the outermost function,
// and the functions in between are on no stack. They are hidden if one of two things
// is so beyond chance, by the 95 % interval of the share of samples: the endpoints of
// most of the time are not known, or a line that calls a function has much time of
// its own. Native code counts for its caller. Node's own modules are an exception,
// because they exist to call it: if nothing else seems to call one of them, its
// caller was inlined. Work that is spread over many lines hides nothing that matters.
//
// calls reports whether a line of the service's own may call a JavaScript function;
// line is 0 where it is not known. Lines of libraries and of Node's own modules are
// assumed to.
func (p *Profile) Inlined(calls func(f *Function, line int32) bool) Inlining {
	var seen, known int64
	self := map[Frame]int64{}
	for i := range p.Samples {
		s := &p.Samples[i]
		depth := slices.IndexFunc(s.Stack, func(f Frame) bool { return p.Functions[f.Function].Owner != System })
		if depth < 0 {
			continue
		}
		seen++
		if s.Endpoint != "" {
			known++
		}
		if depth == 0 || p.Functions[s.Stack[depth].Function].Owner != Standard {
			self[s.Stack[depth]]++
		}
	}
	if seen < enoughSamples {
		return Untold
	}
	if _, most := Interval(known, seen); most < endpointsShare {
		return Hidden
	}
	for at, n := range self {
		f := &p.Functions[at.Function]
		if least, _ := Interval(n, seen); least >= hidesShare && (f.Owner != Own || calls(f, at.Line)) {
			return Hidden
		}
	}
	return Named
}
