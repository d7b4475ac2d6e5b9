package replay

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/latency"
)

// results sums up what became of every exchange: the ledger, the judges'
// evidence, the latencies, the shapes that were seen. It belongs to one
// goroutine while keep runs.
type results struct {
	o      *Options
	survey *survey

	routes map[*subject]*routeResults
	// rest counts the exchanges that belong to no route.
	rest   whittle.Ledger
	shapes shapes

	recorded, service, intended latency.Histogram
	late, own                   latency.Histogram
	progress                    Progress
	redacted                    Redacted
	notes                       []string
	// early exchanges differed while too few requests had been repeated to
	// distinguish noise from difference; they are not among those that differ.
	early       int64
	elapsed     time.Duration
	interrupted bool
}

// routeResults is one route's part of the results.
type routeResults struct {
	ledger    whittle.Ledger
	differing int64
	// undecided exchanges got a different response or none, and their requests had only
	// a redaction token in place of a credential.
	undecided int64
	// Each histogram takes 190 KB, so only the first routes have their own.
	measured          bool
	recorded, service latency.Histogram
}

// Redacted says what redaction did to the requests.
type Redacted struct {
	// Requests were sent with a redaction token in place of a credential.
	Requests int64 `json:"requests"`
	// Denied requests had a redaction token anywhere, and got 401 or 403 where
	// the monolith had returned something else.
	Denied int64 `json:"denied"`
	// Values were sent with a redaction token in their path, query or body.
	Values int64 `json:"values"`
	// Undecided requests got a different response or none, perhaps because the
	// credential was redacted.
	Undecided int64 `json:"undecided"`
	// Responses are the exchanges whose recorded response contains redaction
	// tokens, while the key that would give the candidate's response the same
	// tokens is missing.
	Responses int64 `json:"responses"`
}

func newResults(o *Options, s *survey) *results {
	return &results{o: o, survey: s, routes: map[*subject]*routeResults{}, shapes: shapes{}, progress: Progress{Total: s.total}}
}

// showEvery is the interval between two progress reports.
const showEvery = 200 * time.Millisecond

// keep adds items until seen is closed.
func (b *results) keep(seen <-chan *item, began time.Time) {
	tick := time.NewTicker(showEvery)
	defer tick.Stop()
	show := func() {
		if b.o.OnProgress != nil {
			b.progress.Elapsed = time.Since(began)
			if b.o.Speed > 0 {
				whole := time.Duration(float64(b.survey.last.Sub(b.survey.first)) / b.o.Speed)
				b.progress.Left = max(0, whole-b.progress.Elapsed)
			}
			b.o.OnProgress(b.progress)
		}
	}
	defer show()
	for {
		select {
		case it, ok := <-seen:
			if !ok {
				return
			}
			b.take(it)
		case <-tick.C:
			show()
		}
	}
}

// take adds one exchange to the results.
func (b *results) take(it *item) {
	b.progress.Done++
	if it.to == nil {
		skip(&b.rest, it.skip)
		b.progress.Skipped++
		return
	}
	p := b.routes[it.to]
	if p == nil {
		p = &routeResults{measured: len(b.routes) < routesMost}
		b.routes[it.to] = p
	}
	shape := b.shapes.of(shapeOf(it.to.spec.Name, it.entry, b.shown), it.to.spec.Name)
	shape.Recorded++
	p.ledger.Total++
	b.timed(p, it)
	why, differs := b.compare(it)
	switch why {
	case "":
		p.ledger.Compared++
		shape.Compared++
		b.progress.Compared++
	case failed:
		p.ledger.Failed++
		b.progress.Failed++
	default:
		skip(&p.ledger, why)
		p.ledger.Total-- // skip counts it
		b.progress.Skipped++
	}
	if shape.Why = why; differs {
		p.differing++
		shape.Differing++
		b.progress.Differing++
	}
}

// shown is a name in a shape with its secrets removed: a name in a query or a form may itself
// be one.
func (b *results) shown(name string) string {
	if b.o.Show == nil {
		return name
	}
	return string(b.o.Show.Value(nil, []byte(name)))
}

// failed is the reason under which the ledger counts failed exchanges.
const failed = "failed"

func skip(l *whittle.Ledger, why string) {
	if l.Skipped == nil {
		l.Skipped = map[string]int64{}
	}
	l.Total++
	l.Skipped[why]++
}

// timed records the latency of the recorded response and of the new one.
func (b *results) timed(p *routeResults, it *item) {
	if it.sent.IsZero() {
		return
	}
	if then := &it.entry.Response; then.Failure == whittle.NoFailure && then.Latency > 0 {
		b.recorded.Record(then.Latency)
		if p.measured {
			p.recorded.Record(then.Latency)
		}
	}
	late := max(0, it.sent.Sub(it.due))
	if b.o.Speed > 0 {
		b.progress.Late = late
		b.late.Record(late)
		if !it.held {
			b.own.Record(late)
		}
	}
	if it.skip == "" && it.response.Failure == whittle.NoFailure {
		b.service.Record(it.response.Latency)
		if p.measured {
			p.service.Record(it.response.Latency)
		}
		if b.o.Speed > 0 {
			b.intended.Record(late + it.response.Latency)
		}
	}
}

// compare gives the exchange to the route's judge, as the gateway does with a
// live one, and returns why it was not compared; why is empty for one that was.
func (b *results) compare(it *item) (why string, differs bool) {
	if it.skip != "" {
		return it.skip, false
	}
	e := it.entry
	values := strings.Contains(e.Request.Target, tokenMark) || bytes.Contains(e.Request.Body, []byte(tokenMark))
	lacks := lacksCredential(&e.Request, b.o.Header)
	if values {
		b.redacted.Values++
	}
	if b.o.hides(e.Response.Body, it.response.Body) {
		b.redacted.Responses++
		why = skipNoKey
	}
	if it.redacted {
		b.redacted.Requests++
	}
	if (it.redacted || values) && denied(&it.response) && !denied(&e.Response) {
		b.redacted.Denied++
		return skipRedacted, false
	}
	if why != "" {
		return why, false
	}
	x := &whittle.Exchange{
		Route: it.to.spec.Name, Conn: e.Conn, At: e.At, Served: whittle.Monolith,
		Request: e.Request, Monolith: e.Response, Candidate: it.response, Repeat: it.repeat,
	}
	if it.again != nil {
		x.Repeat = it.again
	}
	if b.o.HasTokens && b.o.Redact == nil {
		hideCookieValues(x)
	}
	// A candidate may also break off or hang over a token in the place of a credential.
	lacks = lacks && slices.Contains([]whittle.Failure{whittle.NoFailure, whittle.FailedReset, whittle.FailedTimeout}, x.Candidate.Failure)
	if apart := it.to.withCredential; apart != nil && !lacks {
		apart.Observe(x)
	}
	o := it.to.judge.Observe(x)
	if o.Early && o.Skip == "" && !o.Differs {
		b.early++
	}
	if lacks && o.Skip == "" && o.Differs {
		b.redacted.Undecided++
		b.routes[it.to].undecided++
		return skipRedacted, false
	}
	switch {
	case x.Monolith.Failure != whittle.NoFailure:
		return cmp.Or(o.Skip, whittle.SkipMonolith), false
	case x.Candidate.Failure != whittle.NoFailure:
		return failed, o.Differs
	}
	return o.Skip, o.Skip == "" && o.Differs
}

func denied(a *whittle.Response) bool {
	return a.Failure == whittle.NoFailure && (a.Status == 401 || a.Status == 403)
}
