// Package rank orders a service's endpoints by the CPU that they cost, and says
// which to carve first, or why that cannot be said.
package rank

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/latency"
	loaded "whittle/load/report"
	"whittle/profile"
	"whittle/profile/measure"
	"whittle/profile/smell"
)

// Ranking is what the measurements say.
type Ranking struct {
	Format  string `json:"format"`
	Service string `json:"service"`
	// Advice says which endpoint to carve first. Empty: none, and NoAdvice says
	// why, and Missing what to do to get one.
	Advice    string     `json:"advice"`
	NoAdvice  string     `json:"no_advice,omitempty"`
	Missing   string     `json:"missing,omitempty"`
	Endpoints []Endpoint `json:"endpoints"`
	// Lead is how much more of the CPU, 0 to 1, the first endpoint has than the
	// next, and Unknown how much belongs to no request that is known.
	Lead    float64 `json:"cpu_share_lead"`
	Unknown float64 `json:"cpu_share_unknown"`
	// OtherThreads is the part of Unknown that threads without JavaScript used.
	OtherThreads float64 `json:"cpu_share_other_threads,omitempty"`
	// Samples is how many there were.
	Samples int64 `json:"samples"`
	// Lines is how those of Node's processes came about: exact where all are.
	Lines profile.Lines `json:"lines,omitempty"`
	// Blocked says which calls kept the event loop, by their place in the code.
	Blocked  []string      `json:"event_loop_blocked,omitempty"`
	Smells   []smell.Smell `json:"smells"`
	Warnings []string      `json:"warnings,omitempty"`
}

// Endpoint is one that may be carved.
type Endpoint struct {
	Endpoint string  `json:"endpoint"`
	Share    float64 `json:"cpu_share"`
	// Low and High are the share's 95 % interval, and Samples what it was seen by.
	Low           float64 `json:"cpu_share_low"`
	High          float64 `json:"cpu_share_high"`
	Samples       int64   `json:"samples"`
	CPUPerRequest float64 `json:"cpu_ms_per_request"`
	Requests      int64   `json:"requests"`
	P50           float64 `json:"p50_ms,omitempty"`
	P99           float64 `json:"p99_ms,omitempty"`
	// Blocking is the share of the time in which it kept an event loop for
	// profile.BlockedFor or more, and Longest the longest such stretch.
	Blocking float64 `json:"event_loop_blocked_share,omitempty"`
	Longest  float64 `json:"event_loop_blocked_ms,omitempty"`

	cpu time.Duration
}

// Endpoints orders the endpoints by their part of the CPU, over all that was
// measured.
func Endpoints(all []*measure.Measured) *Ranking {
	out := &Ranking{Format: "whittle.find/1", Smells: []smell.Smell{}, Endpoints: []Endpoint{}}
	rows, spent := map[string]*Endpoint{}, map[string]profile.Tally{}
	var total, lasted, others time.Duration
	for _, m := range all {
		r := m.Report()
		out.Service = cmp.Or(out.Service, r.Service)
		out.Smells = append(out.Smells, r.Smells...)
		for _, w := range r.Warnings {
			if !slices.Contains(out.Warnings, w) {
				out.Warnings = append(out.Warnings, w)
			}
		}
		p := m.Taken[0].Profile
		if out.Lines != profile.Cheap {
			out.Lines = p.Lines
		}
		total += time.Duration(p.Total())
		lasted = max(lasted, p.Duration)
		p.AddTo(spent)
		others += p.Elsewhere()
		for _, e := range p.ByEndpoint() {
			if e.Endpoint == "" {
				continue
			}
			c := rows[e.Endpoint]
			if c == nil {
				c = &Endpoint{Endpoint: e.Endpoint}
				rows[e.Endpoint] = c
			}
			c.cpu += time.Duration(e.Value)
			if m.Together {
				c.Requests = max(c.Requests, e.Requests)
			} else {
				c.Requests += e.Requests
			}
		}
		for _, b := range p.Blocked() {
			if c := rows[b.Endpoint]; c != nil {
				c.Blocking += b.Sum.Seconds()
				c.Longest = max(c.Longest, latency.Milliseconds(b.Longest))
			}
		}
	}
	lead := profile.LeadOf(spent)
	for _, c := range rows {
		if c.cpu == 0 {
			continue
		}
		c.Share, c.Samples = float64(c.cpu)/float64(max(total, 1)), spent[c.Endpoint].Samples
		c.Low, c.High = around(c.Share, c.Samples, lead.Samples)
		c.Blocking /= max(lasted.Seconds(), 1e-9)
		if c.Requests > 0 && profile.Counted(c.Samples) {
			c.CPUPerRequest = latency.Milliseconds(c.cpu) / float64(c.Requests)
		}
		c.latencies(all[0].Load)
		out.Endpoints = append(out.Endpoints, *c)
	}
	slices.SortFunc(out.Endpoints, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Endpoint, b.Endpoint))
	})
	for _, s := range out.Smells {
		if s.Name == "event-loop-blocked" {
			out.Blocked = append(out.Blocked, s.Where()+": "+s.Evidence)
		}
	}
	out.OtherThreads = float64(others) / float64(max(total, 1))
	out.advise(lead, toKnow(all[0].Taken[0].Profile))
	out.byPath(lead, all)
	return out
}

// around is the 95 % interval of a share that so many of all samples saw. A clock says how
// much a sample is, and that is not the same for all: none is of threads that V8 does not
// profile, and fewer stand for as much where a thread did not wait for a core.
func around(share float64, seen, all int64) (low, high float64) {
	low, high = profile.Interval(seen, all)
	if seen == 0 || all == 0 {
		return low, high
	}
	each := share * float64(all) / float64(seen)
	return min(low*each, share), max(min(high*each, 1), share)
}

// advise names the endpoint to carve first where it is sure which that is, and
// else says what keeps it from being sure.
func (r *Ranking) advise(l profile.Lead, toKnow string) {
	r.Lead, r.Unknown, r.Samples = l.Over, l.Unknown, l.Samples
	unknown := fmt.Sprintf("%.0f %% of the CPU belongs to no request that is known", 100*l.Unknown)
	switch {
	case l.Sure():
		r.Advice = fmt.Sprintf("Carve %s first: %.0f %% of CPU.", l.Endpoint, 100*l.Share)
		return
	case l.Endpoint == "" && l.Unknown == 0:
		r.NoAdvice = "no endpoint was seen at work"
		r.Missing = "put load on the monolith: --during PLAN, or --endpoint 'GET /path', with --target URL"
		return
	case !l.Enough():
		r.NoAdvice = fmt.Sprintf("the process did so little that there are only %d samples", l.Samples)
		r.Missing = "measure longer (--duration 60s), or while there is more load: under its users' own, or --during PLAN, or --endpoint 'GET /path', with --target URL"
		return
	case l.Endpoint == "":
		r.NoAdvice = unknown + ", and none to any endpoint"
	case l.Unknown <= l.Over:
		r.NoAdvice = fmt.Sprintf("%s leads %s by %.1f %% of the CPU, which may be chance: %d samples of one, %d of the other", l.Endpoint, l.Next, 100*l.Over, l.First, l.Second)
		r.Missing = "they are about as dear; to tell them apart measure longer (--duration 60s), or under more load"
		return
	case l.Next == "":
		r.NoAdvice = fmt.Sprintf("%s, and only %.0f %% to %s: another endpoint may ask for more", unknown, 100*l.Share, l.Endpoint)
	default:
		r.NoAdvice = fmt.Sprintf("%s, which is more than the %.1f %% by which %s leads %s: another endpoint may ask for more", unknown, 100*l.Over, l.Endpoint, l.Next)
	}
	if 2*r.OtherThreads > r.Unknown {
		r.NoAdvice = fmt.Sprintf("%s (%.0f %% is in threads that V8 does not profile)", r.NoAdvice, 100*r.OtherThreads)
		r.Missing = elsewhere
		return
	}
	r.Missing = toKnow
}

// byPath warns of advice for an endpoint that is named after the path of its requests.
func (r *Ranking) byPath(l profile.Lead, all []*measure.Measured) {
	named := slices.ContainsFunc(all, func(m *measure.Measured) bool { return m.Taken[0].Paths[l.Endpoint] })
	if named && r.Advice != "" && strings.Count(l.Endpoint, "/") > 1 && !strings.Contains(l.Endpoint, "{id}") {
		r.Warnings = append(r.Warnings, l.Endpoint+" is named after the path of its requests, since no router's table that was read has it: "+
			"a part of it may be a key, and others may be the same endpoint")
	}
}

// elsewhere says what is known of work outside of JavaScript.
const elsewhere = "libuv's pool does asynchronous crypto, zlib, dns, fs and native work such as bcrypt's, V8's helpers collect garbage, " +
	"and worker threads that start meanwhile are not seen, all for no request that is known: " +
	"load one endpoint at a time (--endpoint), and compare the CPU time of the process"

// toKnow says how a service's endpoints come to be known.
func toKnow(p *profile.Profile) string {
	switch {
	case p.Runtime != profile.Go && p.Runtime != profile.Node:
		return "endpoints are seen of Go and of Node alone: whittle profile names the lines that ask for the CPU; load one endpoint after the other and compare the CPU time of the process"
	case slices.ContainsFunc(p.Functions, func(f profile.Function) bool { return strings.HasPrefix(f.File, profile.DenoScheme) }):
		return "of Deno the requests of node:http are seen, and of what is built on it; those of Deno.serve are not: whittle profile names the lines that ask for the CPU"
	case p.Runtime == profile.Go:
		return "a Go handler is known where a router of docs/find-and-profile.md calls it, and its route where the sources are on this machine " +
			"(run whittle in their folder if they were built with -trimpath); for other routers, " + `set the pprof label "endpoint" around each handler, as in ` +
			`pprof.Do(ctx, pprof.Labels("endpoint", "GET /path"), handle); whittle profile names the lines that ask for the rest meanwhile`
	}
	return "Node's endpoints are read from its routers and its requests: load the endpoints that matter while it is measured, by --during PLAN or --endpoint; " +
		"what runs after a database has responded is known where not all endpoints are under way all the time, so a lower load tells more; whittle profile names the lines that ask for the rest"
}

// Err is nil where there is advice. Without it, the exit status is 1.
func (r *Ranking) Err() error {
	switch {
	case r.Advice != "":
		return nil
	case len(r.Endpoints) == 0 && r.Unknown == 0:
		return whittle.Errorf(whittle.FailedPrecondition, "find: %s", r.NoAdvice).WithHint(r.Missing)
	}
	return whittle.Errorf(whittle.FallsShort, "find: no advice: %s", r.NoAdvice).WithHint(r.Missing)
}

// latencies takes what the load's users saw; of several of its names that are
// one endpoint, the slowest.
func (c *Endpoint) latencies(l *loaded.Report) {
	if l == nil {
		return
	}
	for _, n := range l.Names {
		if profile.SameEndpoint(c.Endpoint, n.Name) {
			c.P50 = max(c.P50, latency.Milliseconds(n.Intended.P50))
			c.P99 = max(c.P99, latency.Milliseconds(n.Intended.P99))
		}
	}
}
