// Package replay sends recorded exchanges to a candidate again and compares
// what it returns now with what the monolith returned then: the same
// comparison, verdict and findings as on live traffic.
//
// A log is read twice, because the noise and the progress can be known only
// after all of it was read; without a config it is read once more before that,
// to find its endpoints. Every reading holds a bounded part. One goroutine
// keeps the schedule, one for each connection sends, and one compares.
package replay

import (
	"cmp"
	"context"
	"iter"
	"time"

	"whittle"
	"whittle/carve/compare"
	"whittle/record/capture"
)

// Log is a sequence of recorded exchanges that can be read repeatedly from its
// beginning.
type Log interface {
	// Entries yields every exchange, roughly in the order in which the requests
	// arrived. The caller owns each entry. Nothing follows an error.
	Entries(ctx context.Context) iter.Seq2[*capture.Entry, error]
	// Damage lists what the last reading could not read, one sentence each.
	Damage() []string
	// Name is the log's name in a report.
	Name() string
}

// Options configure a replay. Against is required; every other zero value is
// useful.
type Options struct {
	// Against is the candidate's base URL. Requests go nowhere else, except to
	// Monolith.
	Against string
	// Routes are a config's; a request that matches no route with a candidate
	// is not sent. Where they are nil, every request is sent unchanged, and the
	// routes are the endpoints of a contract of the log.
	Routes []whittle.Route
	// Only lists the routes to replay. Empty: all.
	Only []string
	// Timeout and MaxResponse bound one call: its duration and the bytes of its
	// response. 0: the route's, or 10 s and 4 MiB.
	Timeout     time.Duration
	MaxResponse int64
	// Insecure accepts any TLS certificate.
	Insecure bool

	// Speed is a multiple of the recorded pace. 0: as fast as Connections
	// allow.
	Speed float64
	// Connections bounds the requests under way. 0: 16.
	Connections int
	// Key selects the requests whose order is kept.
	Key Key
	// Header is set on every request and replaces what was recorded, Host
	// included.
	Header whittle.Header
	// AllowWrites sends requests that may change something.
	AllowWrites bool

	// Ignore and Unordered are JSON paths in addition to those of the routes.
	Ignore, Unordered []string
	// Monolith is a URL to which one in RepeatEvery requests that change
	// nothing is repeated, to learn what differs by itself or has changed since
	// the recording. Empty: noise is learned from requests that the log has
	// several times.
	Monolith string
	// RepeatEvery: 0 is 10.
	RepeatEvery int
	// Redact redacts a response as the recording did, so that the tokens of a
	// redacted log can be compared. Several goroutines call it at once, on
	// recorded responses as well, in which a token stays as it is. Nil:
	// responses are compared unchanged.
	Redact func(*whittle.Response)
	// Show redacts the parts of exchanges in reports. An archive is
	// not redacted, nor is the candidate's response if the key is missing. Nil:
	// everything is shown.
	Show compare.Redactor
	// HasTokens says that the log was redacted. Without Redact, a number in it
	// may then stand for another one.
	HasTokens bool
	// Notes come before the report's own.
	Notes []string

	// OnProgress is called from time to time, and at the end. Nil: never.
	OnProgress func(Progress)
}

// Progress says how far a replay has come.
type Progress struct {
	// Done and Total count exchanges of the log.
	Done, Total int64
	Compared    int64
	// Differing exchanges had responses that differ and were not declared to.
	Differing int64
	Failed    int64
	Skipped   int64
	Elapsed   time.Duration
	// Left is the remaining time at the chosen pace. 0: there is no pace.
	Left time.Duration
	// Late is the delay of the last request.
	Late time.Duration
}

const (
	defaultConnections = 16
	defaultTimeout     = 10 * time.Second
	defaultMaxResponse = 4 << 20
	defaultRepeatEvery = 10

	// The look-ahead: how many exchanges are held before they are compared, and
	// how many bytes of bodies; at least one exchange is.
	lookAhead      = 1024
	lookAheadBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	o.Connections = cmp.Or(max(o.Connections, 0), defaultConnections)
	o.RepeatEvery = cmp.Or(max(o.RepeatEvery, 0), defaultRepeatEvery)
	return o
}

// Run replays a log and returns a report. Where ctx ends, the replay ends early
// and the report contains what is known. An error says that there is nothing to
// report.
func Run(ctx context.Context, log Log, o Options) (*Report, error) {
	o = o.withDefaults()
	if o.Against == "" {
		return nil, whittle.Errorf(whittle.Invalid, "replay: no server is given").WithHint("say --against URL")
	}
	routes, err := newRouter(&o)
	if err != nil {
		return nil, err
	}
	defer routes.close()
	if o.Routes == nil {
		if err := routes.group(ctx, log); err != nil {
			return nil, err
		}
	}
	s, err := takeSurvey(ctx, log, routes)
	if err != nil {
		return nil, err
	}
	if err := routes.settle(&o, s); err != nil {
		return nil, err
	}
	p := &player{o: &o, log: log, router: routes, survey: s, results: newResults(&o, s)}
	p.play(ctx)
	return p.results.report(log), nil
}
