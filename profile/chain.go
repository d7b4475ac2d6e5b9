package profile

import "slices"

// Site is a line of the service's own code, with what was spent below it: in
// itself and in libraries, the standard library and the runtime that it called
// into, but not in other code of its own.
type Site struct {
	Function int32
	Line     int32
	Value    int64
	Share    float64 // of the profile's total
	Samples  int64   // that it was seen by
	// Callee is the function that the line called into for most of Value, and
	// CalleeValue how much of it. Callee is -1 where the line's own work is more.
	Callee      int32
	CalleeValue int64
	// Chain is the dearest way to the cost: from the outermost of the service's
	// own functions through the site down to the leaf.
	Chain []Frame
}

// Sites gives the lines of the service's own code by what was spent for them,
// the dearest first, at most n. Samples without own code (the collector, the
// scheduler) are nobody's.
func (p *Profile) Sites(n int) []Site {
	type key struct{ function, line int32 }
	bySite := map[key][]int{}
	sums, called := map[key]int64{}, map[key]map[int32]int64{}
	samples := map[key]int64{}
	for i := range p.Samples {
		depth := p.NearestOwn(&p.Samples[i])
		if depth < 0 || p.Samples[i].IsWaiting(p) {
			continue
		}
		f := p.Samples[i].Stack[depth]
		k := key{f.Function, f.Line}
		bySite[k] = append(bySite[k], i)
		sums[k] += p.Samples[i].Value
		samples[k] += max(p.Samples[i].Objects, 1)
		if called[k] == nil {
			called[k] = map[int32]int64{}
		}
		callee := int32(-1)
		if depth > 0 {
			callee = p.Samples[i].Stack[depth-1].Function
		}
		called[k][callee] += p.Samples[i].Value
	}
	total := p.Total()
	out := make([]Site, 0, len(sums))
	for k, v := range sums {
		out = append(out, Site{Function: k.function, Line: k.line, Value: v, Share: ratio(v, total), Samples: samples[k]})
	}
	sortBy(out, func(s Site) (int64, string) { return s.Value, p.Functions[s.Function].Name })
	out = out[:min(n, len(out))]
	for i := range out {
		k := key{out[i].Function, out[i].Line}
		out[i].Chain = p.dearestChain(bySite[k])
		out[i].Callee = Heaviest(called[k])
		if out[i].Callee >= 0 {
			out[i].CalleeValue = called[k][out[i].Callee]
		}
	}
	return out
}

// NearestOwn gives the depth of the own function nearest to the leaf, -1 where
// there is none.
func (p *Profile) NearestOwn(s *Sample) int {
	return slices.IndexFunc(s.Stack, func(f Frame) bool { return p.Functions[f.Function].Owner == Own })
}

// dearestChain goes down from the outermost own function, at each step to the
// function for which most was spent among the samples that came this way.
func (p *Profile) dearestChain(samples []int) []Frame {
	type path struct {
		frames []Frame // root first, from the outermost own function on
		value  int64
	}
	var left []path
	for _, i := range samples {
		s := &p.Samples[i]
		top := len(s.Stack) - 1
		for top > 0 && p.Functions[s.Stack[top].Function].Owner != Own {
			top--
		}
		frames := slices.Clone(s.Stack[:top+1])
		slices.Reverse(frames)
		left = append(left, path{frames, s.Value})
	}
	var chain []Frame
	for depth := 0; len(left) > 0; depth++ {
		sums, ends := map[int32]int64{}, int64(0)
		for _, p := range left {
			if depth < len(p.frames) {
				sums[p.frames[depth].Function] += p.value
			} else {
				ends += p.value
			}
		}
		if len(sums) == 0 {
			break
		}
		next := Heaviest(sums)
		if ends > sums[next] {
			break
		}
		lines := map[int32]int64{}
		kept := left[:0]
		for _, p := range left {
			if depth < len(p.frames) && p.frames[depth].Function == next {
				lines[p.frames[depth].Line] += p.value
				kept = append(kept, p)
			}
		}
		left = kept
		chain = append(chain, Frame{Function: next, Line: Heaviest(lines)})
	}
	return chain
}
