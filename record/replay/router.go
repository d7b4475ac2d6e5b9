package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/gateway"
	"whittle/contract/infer"
	"whittle/record/capture"
)

// Reasons for which a recorded exchange is not sent, in addition to the
// ledger's own.
const (
	skipOther    = "other_route"  // of a route that was not asked for
	skipNoRoute  = "no_candidate" // the config has no candidate for it
	skipRedacted = "redacted"     // its credential is only a token, which may be why it differs
	skipNoKey    = "no_key"       // its recorded response has tokens, and their key is missing
)

// subject is one route of a replay.
type subject struct {
	spec   whittle.Route
	caller *gateway.Caller
	judge  *compare.Judge
	// learns says that the log or the monolith shows what changes by itself:
	// there is a second response to the same request.
	learns bool
	note   string
	hidden string // the headers that a missing key hides, in a sentence; "": none
	// withCredential judges only the exchanges whose requests still have their
	// credential. It is nil where all of them do. Where the others differ,
	// which a missing credential may cause, its verdict is the route's.
	withCredential *compare.Judge
	asked          atomic.Int64 // counts to the monolith's turn
}

// compares reports whether a header may be compared. A route without a config
// has no comparison of its own yet.
func (s *subject) compares(name string) bool {
	c := &s.spec.Compare
	if c.Kind == "" {
		c = &whittle.Comparison{AllHeaders: true}
	}
	return c.ComparesHeader(name) || c.ListsHeader(name) && whittle.ComparedByPresence(name)
}

// router maps each exchange to its route.
type router struct {
	matcher *gateway.Matcher
	// routes are the config's; where they are nil, groups derives them from the
	// log.
	routes []whittle.Route
	groups *infer.Groups
	by     map[string]*subject
	only   []string
	show   compare.Redactor // nil: everything may be seen
	given  whittle.Header   // set on every request
	base   whittle.Upstream
	// monolith is nil unless requests are repeated to it.
	monolith *gateway.Caller
	plain    *gateway.Caller
	callers  []*gateway.Caller
}

// Bounds of the routes that are derived from a log.
const (
	routesMost = 128
	otherPaths = "(other paths)"
)

func newRouter(o *Options) (*router, error) {
	d := &router{routes: o.Routes, by: map[string]*subject{}, only: o.Only, show: o.Show, given: o.Header}
	d.base = whittle.Upstream{
		URL: o.Against, Timeout: cmp.Or(o.Timeout, defaultTimeout), MaxResponse: cmp.Or(o.MaxResponse, defaultMaxResponse),
		MaxConns: o.Connections, Insecure: o.Insecure,
	}
	if err := d.open(o); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *router) open(o *Options) (err error) {
	plain := whittle.Route{Candidate: &d.base}
	if d.plain, err = d.caller(plain); err != nil {
		return flag(err, "--against")
	}
	if o.Monolith != "" {
		base := d.base
		base.URL = o.Monolith
		if d.monolith, err = d.caller(whittle.Route{Candidate: &base}); err != nil {
			return flag(err, "--monolith")
		}
	}
	if d.routes == nil {
		return nil
	}
	if d.matcher, err = gateway.NewMatcher(d.routes); err != nil {
		return err
	}
	known := make([]string, 0, len(d.routes))
	for i := range d.routes {
		r := d.routes[i]
		if r.Candidate == nil {
			continue
		}
		known = append(known, r.Name)
		to := *r.Candidate
		to.URL, to.Others, to.MaxConns, to.Insecure = o.Against, nil, o.Connections, to.Insecure || o.Insecure
		to.Timeout, to.MaxResponse = cmp.Or(o.Timeout, to.Timeout), cmp.Or(o.MaxResponse, to.MaxResponse)
		r.Candidate = &to
		s := &subject{spec: r}
		if s.caller, err = d.caller(r); err != nil {
			return err
		}
		d.by[r.Name] = s
	}
	for _, name := range d.only {
		if d.by[name] == nil {
			return whittle.Errorf(whittle.NotFound, "the config has no route %q with a candidate", name).
				WithHint(fmt.Sprintf("it has: %q", known))
		}
	}
	if len(known) == 0 {
		return whittle.Errorf(whittle.Invalid, "the config has no route with a candidate").
			WithHint("leave -c away to send every request as it is")
	}
	return nil
}

// flag replaces the config field in an error with the flag that sets it.
func flag(err error, name string) error {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return whittle.Errorf(e.Code, "%s: %w", name, err).WithHint(e.Hint)
	}
	return err
}

func (d *router) caller(r whittle.Route) (*gateway.Caller, error) {
	c, err := gateway.NewCaller(r)
	if err == nil {
		d.callers = append(d.callers, c)
	}
	return c, err
}

func (d *router) close() {
	for _, c := range d.callers {
		c.Close()
	}
}

// place returns the route of an exchange, or the reason why it is not replayed.
func (d *router) place(e *capture.Entry) (s *subject, skip string) {
	name := e.Route
	if d.routes != nil {
		if s = d.by[name]; s == nil {
			i := d.matcher.Match(&e.Request)
			if i < 0 || d.routes[i].Candidate == nil {
				return nil, skipNoRoute
			}
			name = d.routes[i].Name
			s = d.by[name]
		}
	} else {
		if name == "" {
			name = d.grouped(&e.Request)
		}
		if s = d.by[name]; s == nil && len(d.by) >= routesMost {
			name = otherPaths
			s = d.by[name]
		}
		if s == nil {
			s = &subject{spec: whittle.Route{Name: name, Candidate: &d.base}, caller: d.plain}
			d.by[name] = s
		}
	}
	if len(d.only) > 0 && !slices.Contains(d.only, name) {
		return nil, skipOther
	}
	return s, ""
}

// group reads a log and finds the endpoints of its exchanges, as a contract of
// the log would have them.
func (d *router) group(ctx context.Context, log Log) (err error) {
	d.groups, err = infer.Group(func(yield func(*capture.Entry, error) bool) {
		for e, err := range log.Entries(ctx) {
			if err == nil {
				e.Request.Target = d.shown(e.Request.Target)
			}
			if !yield(e, err) || ctx.Err() != nil {
				return
			}
		}
	})
	return err
}

// grouped names the route of a request where there is no config: the endpoint
// that a contract of the log would have, or else method and path, with * in
// place of each segment that looks like an id.
func (d *router) grouped(q *whittle.Request) string {
	target := d.shown(q.Target)
	if d.groups != nil {
		if name := d.groups.Of(q.Method, target); name != "" {
			return name
		}
	}
	return q.Method + " " + capture.PathShape(target)
}

// shown turns a request target into a route's name without secrets.
func (d *router) shown(target string) string {
	q := whittle.Request{Target: target}
	if d.show != nil {
		d.show.Request(&q)
	}
	return q.Target
}

// Noise is learned only from this many repeated requests or more: with fewer a
// difference could not be shown.
const learnFrom = 30

// settle makes the judges once the first reading has shown what the log
// contains.
func (d *router) settle(o *Options, s *survey) error {
	for _, name := range d.only {
		if d.by[name] == nil {
			names := slices.Sorted(maps.Keys(d.by))
			return whittle.Errorf(whittle.NotFound, "the log has no exchange of a route %q", name).
				WithHint(fmt.Sprintf("it has: %q", names[:min(20, len(names))]))
		}
	}
	for name, sub := range d.by {
		seen := s.routes[sub]
		if seen == nil {
			continue
		}
		if d.routes == nil {
			sub.spec.Compare = comparison(seen, len(s.routes))
		}
		c := &sub.spec.Compare
		var hidden []string
		if hidden = o.compareKnownHeaders(seen, c); len(hidden) > 0 {
			sub.hidden = fmt.Sprintf("%s: not compared, since the log has tokens in them and the key is missing: %s", name, strings.Join(hidden, ", "))
		}
		if c.Kind == whittle.JSON {
			c.Ignore = append(slices.Clone(c.Ignore), o.Ignore...)
			c.Unordered = append(slices.Clone(c.Unordered), o.Unordered...)
		}
		byRepeats := c.LearnNoise && c.Kind != whittle.Statistical
		if byRepeats {
			d.learn(sub, seen)
		}
		if seen.tokens > 0 {
			// The verdict may come from either of two judges, so each gets half
			// of the error rate.
			c.Confidence = 1 - (1-c.Confidence)/2
		}
		var err error
		if sub.judge, err = d.judge(sub, o, byRepeats); err == nil && seen.tokens > 0 {
			sub.withCredential, err = d.judge(sub, o, byRepeats)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *router) judge(sub *subject, o *Options, byRepeats bool) (*compare.Judge, error) {
	j, err := compare.NewJudge(sub.spec.Compare)
	if err != nil {
		return nil, whittle.Errorf(whittle.CodeOf(err), "route %q: %w", sub.spec.Name, err)
	}
	// Without a monolith, whoever asked twice while it was recorded has chosen what is repeated. A log
	// seldom has enough to learn what of headers is made for each response.
	j.IsOfALog(d.monolith == nil, byRepeats)
	if o.Show != nil {
		j.Redact(o.Show)
	}
	return j, nil
}

// learn decides what the route's noise is learned from.
func (d *router) learn(sub *subject, seen *routeSurvey) {
	c := &sub.spec.Compare
	switch {
	case d.monolith != nil && sub.caller.Harmless(seen.method):
		sub.learns = true
	case d.monolith == nil && seen.again >= learnFrom:
		sub.learns = true
	default:
		if c.LearnNoise = false; c.Kind != whittle.JSON {
			return // there are only headers to learn of
		}
		sub.note = fmt.Sprintf("%s: no noise could be learned, since only %d of the log's requests had been in it before: "+
			"a field that changes by itself shows as a difference (name it with --ignore, or ask the monolith as well with --monolith URL)",
			sub.spec.Name, seen.again)
	}
}

// comparison is that of a route without a config: a config's defaults, with the
// error rate split over the routes.
func comparison(seen *routeSurvey, routes int) whittle.Comparison {
	c := whittle.Comparison{
		Kind: whittle.Exact, AllHeaders: true, LearnNoise: true, Confidence: 1 - 0.01/float64(max(1, routes)), MaxDiffer: 0.005, MinCompared: 300,
	}
	if seen.json > 0 {
		c.Kind = whittle.JSON
	}
	return c
}
