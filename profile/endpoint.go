package profile

import (
	"maps"
	"slices"
	"time"
)

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

// CountRequests sets how many requests there were meanwhile. The names under
// which they were counted are a load plan's or a metric's; where one means an
// endpoint of the profile's (see SameEndpoint) it is counted as that.
func (p *Profile) CountRequests(counted map[string]int64) {
	seen := map[string]bool{}
	for i := range p.Samples {
		seen[p.Samples[i].Endpoint] = true
	}
	delete(seen, "")
	known := slices.Sorted(maps.Keys(seen))
	p.Requests = make(map[string]int64, len(counted))
	for name, n := range counted {
		p.Requests[endpointFor(name, known)] += n
	}
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
// outermost function on its stack for which route knows one. A function without
// a name is called by its endpoint. V8's collector works in the midst of a call,
// and so for the endpoint of the sample before.
func (p *Profile) LabelEndpoints(route func(*Function) string) {
	routes := make([]string, len(p.Functions))
	for i := range p.Functions {
		routes[i] = route(&p.Functions[i])
		if f := &p.Functions[i]; routes[i] != "" && f.Name == anonymous {
			f.Name = "handler of " + routes[i]
		}
	}
	last := ""
	for i := range p.Samples {
		s := &p.Samples[i]
		if c := p.CategoryOf(s); c == Collecting && s.Endpoint == "" && p.Runtime == Node && s.At >= 0 {
			s.Endpoint = last
			continue
		}
		for depth := len(s.Stack) - 1; depth >= 0 && s.Endpoint == ""; depth-- {
			s.Endpoint = routes[s.Stack[depth].Function]
		}
		last = s.Endpoint
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

// Lead is the endpoint that asks for most of the CPU, and how certain that is.
type Lead struct {
	// Endpoint has the greatest share. "": no endpoint has any.
	Endpoint string
	// Next has the next greatest. "": there is no other.
	Next string
	// Share is the endpoint's part of the CPU, 0 to 1, and Over how much more
	// that is than Next's part: all of it where there is no other.
	Share, Over float64
	// Unknown is the part of the CPU that belongs to no request that is known.
	Unknown float64
}

// Sure reports whether the endpoint leads wherever the unknown part belongs: to
// the next endpoint, or to one that was not seen at all.
func (l *Lead) Sure() bool { return l.Endpoint != "" && l.Unknown <= l.Over }

// LeadOf compares endpoints, given with the CPU time of each. That of "" belongs
// to no request that is known, and total is the CPU time of all.
func LeadOf(cpu map[string]int64, total int64) Lead {
	l := Lead{Unknown: ratio(cpu[""], total)}
	var first, second int64
	for e, v := range cpu {
		switch {
		case e == "" || v <= 0:
		case v > first || v == first && e < l.Endpoint:
			l.Next, second = l.Endpoint, first
			l.Endpoint, first = e, v
		case v > second || v == second && e < l.Next:
			l.Next, second = e, v
		}
	}
	l.Share, l.Over = ratio(first, total), ratio(first-second, total)
	return l
}
