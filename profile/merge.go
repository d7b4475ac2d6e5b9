package profile

// Merge puts profiles of one process and kind, taken one after the other, into
// one: its samples that had no time have the middle of their own profile's. It
// lasts from the first's beginning to the last's end; what was not profiled
// between them is missing. There must be at least one.
func Merge(parts []*Profile) *Profile {
	first, last := parts[0], parts[len(parts)-1]
	out := &Profile{Kind: first.Kind, Runtime: first.Runtime, Began: first.Began, Service: first.Service}
	out.Duration = last.Began.Add(last.Duration).Sub(first.Began)
	index := map[Function]int32{}
	for _, p := range parts {
		at := make([]int32, len(p.Functions))
		for i, f := range p.Functions {
			j, ok := index[f]
			if !ok {
				j = int32(len(out.Functions))
				index[f] = j
				out.Functions = append(out.Functions, f)
			}
			at[i] = j
		}
		offset := p.Began.Sub(first.Began)
		for _, s := range p.Samples {
			stack := make([]Frame, len(s.Stack))
			for i, f := range s.Stack {
				stack[i] = Frame{at[f.Function], f.Line}
			}
			s.Stack = stack
			if s.At < 0 {
				s.At = p.Duration / 2
			}
			s.At += offset
			out.Samples = append(out.Samples, s)
		}
		for e, n := range p.Requests {
			if out.Requests == nil {
				out.Requests = map[string]int64{}
			}
			out.Requests[e] += n
		}
	}
	return out
}
