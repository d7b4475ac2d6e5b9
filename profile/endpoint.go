package profile

import (
	"maps"
	"math"
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
	Samples  int64   // that it was seen by
	// PerRequest is Value by request, in the Kind's unit. 0: Requests is not known.
	PerRequest float64
}

// ByEndpoint gives what each endpoint cost, the dearest first.
func (p *Profile) ByEndpoint() []EndpointCost {
	sums := map[string]Tally{}
	p.AddTo(sums)
	for e := range p.Requests {
		sums[e] = Tally{sums[e].Value, sums[e].Samples} // it has a row, too
	}
	total := p.Total()
	out := make([]EndpointCost, 0, len(sums))
	for e, v := range sums {
		c := EndpointCost{Endpoint: e, Value: v.Value, Share: ratio(v.Value, total), Requests: p.Requests[e], Samples: v.Samples}
		if e == "" {
			c.Requests = 0
		}
		c.PerRequest = ratio(v.Value, c.Requests)
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
	for _, route := range p.Routes {
		seen[route] = true
	}
	delete(seen, "")
	known := slices.Sorted(maps.Keys(seen))
	p.Requests = make(map[string]int64, len(counted))
	for name, n := range counted {
		p.Requests[EndpointFor(name, known)] += n
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
// outermost function on its stack for which route knows one, else the one for
// which its time says that the process worked then, where turn is given. A function
// without a name is called by its endpoint. V8's collector works in the midst of a
// call, and so for the endpoint of the sample before.
func (p *Profile) LabelEndpoints(route func(*Function) string, turn func(at time.Duration) string) {
	routes := make([]string, len(p.Functions))
	for i := range p.Functions {
		routes[i] = route(&p.Functions[i])
		if f := &p.Functions[i]; routes[i] != "" && f.Name == Anonymous {
			f.Name = "handler of " + routes[i]
		}
	}
	last := ""
	for i := range p.Samples {
		s := &p.Samples[i]
		category := p.CategoryOf(s)
		for depth := len(s.Stack) - 1; depth >= 0 && s.Endpoint == ""; depth-- {
			s.Endpoint = routes[s.Stack[depth].Function]
		}
		if s.Endpoint == "" && turn != nil && s.At >= 0 && s.Thread == 0 && category != Idle {
			s.Endpoint = turn(s.At)
		}
		if category == Collecting && s.Endpoint == "" && p.Runtime == Node && s.At >= 0 && s.Thread == 0 {
			s.Endpoint = last
		}
		last = s.Endpoint
	}
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
	// Samples is how many there were, and First and Second those of Endpoint and Next.
	Samples, First, Second int64
}

// enoughToLead is the fewest samples that an endpoint leads by, or has a cost a request by:
// of 30 the count is known to ±36 % (95 %, Poisson).
const enoughToLead = 30

// Counted reports whether so many samples give a cost a request. With fewer, figures of
// equal runs differ several times over.
func Counted(samples int64) bool { return samples >= enoughToLead }

// Sure reports whether the endpoint leads wherever the unknown part belongs: to
// the next endpoint, or to one that was not seen at all; and by more than chance.
func (l *Lead) Sure() bool {
	return l.Endpoint != "" && l.Unknown <= l.Over && l.Enough() && l.Clear()
}

// Enough reports whether there were samples enough to say anything.
func (l *Lead) Enough() bool { return l.Samples >= enoughToLead }

// Clear reports whether the endpoint has more samples than the next by more than
// chance: the difference of two shares of one sample is, at 95 %, above 0.
func (l *Lead) Clear() bool {
	d := float64(l.First - l.Second)
	variance := float64(l.First+l.Second) - d*d/float64(max(l.Samples, 1))
	return d > 0 && d*d > 1.96*1.96*variance
}

// Tally is what was spent, and by how many samples that was seen.
type Tally struct{ Value, Samples int64 }

// AddTo adds what a profile saw of each endpoint to a sum.
func (p *Profile) AddTo(sum map[string]Tally) {
	for i := range p.Samples {
		if s := &p.Samples[i]; p.CategoryOf(s) != Idle {
			t := sum[s.Endpoint]
			sum[s.Endpoint] = Tally{t.Value + s.Value, t.Samples + max(s.Objects, 1)}
		}
	}
}

// LeadOf compares endpoints. What is spent for "" belongs to no request that is known.
func LeadOf(spent map[string]Tally) Lead {
	var l Lead
	var first, second Tally
	var total int64
	for e, t := range spent {
		total, l.Samples = total+t.Value, l.Samples+t.Samples
		switch {
		case e == "" || t.Value <= 0:
		case t.Value > first.Value || t.Value == first.Value && e < l.Endpoint:
			l.Next, second = l.Endpoint, first
			l.Endpoint, first = e, t
		case t.Value > second.Value || t.Value == second.Value && e < l.Next:
			l.Next, second = e, t
		}
	}
	l.Unknown, l.Share, l.Over = ratio(spent[""].Value, total), ratio(first.Value, total), ratio(first.Value-second.Value, total)
	l.First, l.Second = first.Samples, second.Samples
	return l
}

// Interval is Wilson's 95 % interval of the share that k of n samples are.
func Interval(k, n int64) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.96
	p, m := float64(min(k, n))/float64(n), float64(n)
	middle, half := p+z*z/(2*m), z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, (middle-half)/(1+z*z/m)), min(1, (middle+half)/(1+z*z/m))
}
