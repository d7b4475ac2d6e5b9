package profile

import "time"

// EndpointCost is what one endpoint's requests cost.
type EndpointCost struct {
	// Endpoint as in Sample. "": what belongs to no request that is known, such
	// as the collector's own goroutines.
	Endpoint string
	Value    int64
	Share    float64 // of the profile's total
	Requests int64   // 0: not known
	// PerRequest is Value by request, in the Kind's unit. 0: Requests is not known.
	PerRequest float64
}

// ByEndpoint gives what each endpoint cost, the dearest first.
func (p *Profile) ByEndpoint() []EndpointCost {
	sums := map[string]int64{}
	for i := range p.Samples {
		if p.CategoryOf(&p.Samples[i]) != Idle {
			sums[p.Samples[i].Endpoint] += p.Samples[i].Value
		}
	}
	for e := range p.Requests {
		sums[e] += 0
	}
	total := p.Total()
	out := make([]EndpointCost, 0, len(sums))
	for e, v := range sums {
		c := EndpointCost{Endpoint: e, Value: v, Share: ratio(v, total), Requests: p.Requests[e]}
		if e == "" {
			c.Requests = 0
		}
		c.PerRequest = ratio(v, c.Requests)
		out = append(out, c)
	}
	sortBy(out, func(c EndpointCost) (int64, string) { return c.Value, c.Endpoint })
	return out
}

// AllRequests is how many requests there were, over all endpoints. 0: not known.
func (p *Profile) AllRequests() int64 {
	var sum int64
	for _, n := range p.Requests {
		sum += n
	}
	return sum
}

// LabelEndpoints gives each sample that has no endpoint the one of the
// outermost function on its stack for which route knows one.
func (p *Profile) LabelEndpoints(route func(*Function) string) {
	routes := make([]string, len(p.Functions))
	for i := range p.Functions {
		routes[i] = route(&p.Functions[i])
	}
	for i := range p.Samples {
		s := &p.Samples[i]
		for depth := len(s.Stack) - 1; depth >= 0 && s.Endpoint == ""; depth-- {
			s.Endpoint = routes[s.Stack[depth].Function]
		}
	}
}

// Between gives the part of a profile that was taken in [from, to) since it
// began, as a profile of its own, without requests. Samples without a time are
// left out.
func (p *Profile) Between(from, to time.Duration) *Profile {
	out := *p
	out.Began, out.Duration, out.Requests, out.Samples = p.Began.Add(from), to-from, nil, nil
	for _, s := range p.Samples {
		if s.At >= from && s.At < to {
			out.Samples = append(out.Samples, s)
		}
	}
	return &out
}
