// Package replay sends recorded exchanges to a candidate again and compares
// what it returns now with what the monolith returned then: the same
// comparison, verdict and findings as on live traffic.
//
// A log is read twice, since what can be learned of noise, and how far the
// replay has come, depends on all of it, and without a config once more before, for
// its endpoints; no reading holds more than a bounded part. One goroutine keeps the schedule, as many as there are
// connections send, and one compares.
package replay

import (
	"context"
	"iter"
	"time"

	"whittle"
	"whittle/carve/compare"
	"whittle/record/capture"
)

// Log is a record of exchanges that can be read from its beginning any number
// of times.
type Log interface {
	// Entries yields every exchange, about in the order in which the requests
	// arrived. An entry is the caller's for good. After an error nothing more
	// comes.
	Entries(ctx context.Context) iter.Seq2[*capture.Entry, error]
	// Damage says what the last reading had to leave out, one sentence each.
	Damage() []string
	// Name is what the log is called in a report.
	Name() string
}

// Options of a replay. Against is required; everything else has a useful zero
// value.
type Options struct {
	// Against is the candidate's base URL. Nothing is sent anywhere else, but
	// for Monolith.
	Against string
	// Routes are a config's; a request that matches none with a candidate is
	// not sent. Nil: every request goes as it is, and routes are the endpoints that
	// a contract of the log would have.
	Routes []whittle.Route
	// Only names the routes to replay. Empty: all.
	Only []string
	// Timeout and MaxResponse bound one call, in time and in bytes of its response.
	// 0: the route's, or 10 s and 4 MiB.
	Timeout     time.Duration
	MaxResponse int64
	// Insecure accepts any TLS certificate.
	Insecure bool

	// Speed is a multiple of the recorded pace. 0: as fast as the connections
	// allow.
	Speed float64
	// Connections bounds the requests under way. 0: 16.
	Connections int
	// Key says which requests stay in order.
	Key Key
	// Header is set on every request, in place of what was recorded, Host
	// included.
	Header whittle.Header
	// AllowWrites sends requests that may change something.
	AllowWrites bool

	// Ignore and Unordered are JSON paths beside those of the routes.
	Ignore, Unordered []string
	// Monolith is asked as well, once in RepeatEvery requests that change
	// nothing, to learn what differs by itself or has changed since. Empty:
	// noise is learned from requests that the log has several times.
	Monolith string
	// RepeatEvery: 0 is 10.
	RepeatEvery int
	// Redact makes of a response what recording would have made of it, so that
	// the tokens of a redacted log can be compared. It is called by several
	// goroutines at once, on recorded responses as well: what is a token already
	// stays one. Nil: responses are compared as they are.
	Redact func(*whittle.Answer)
	// Show takes what is secret out of what a report shows of exchanges and of
	// what becomes tests: an archive is not redacted, and without a key neither
	// is the candidate's response. Nil: all is shown as it is.
	Show compare.Redactor
	// HasTokens says that the log was redacted, so that without Redact a number
	// in it may stand for another one.
	HasTokens bool
	// Notes are told in the report before its own.
	Notes []string

	// OnProgress is called now and then, and at the end. Nil: nobody looks.
	OnProgress func(Progress)
	// Cases collects exchanges for tests. Nil: none.
	Cases *Cases
}

// Progress is how far a replay has come.
type Progress struct {
	// Done and Total count exchanges of the log.
	Done, Total int64
	Compared    int64
	// Differing had responses that are not the same and not declared so.
	Differing int64
	Failed    int64
	Skipped   int64
	Elapsed   time.Duration
	// Left is how much longer it takes at the pace that is to be kept. 0: there
	// is none.
	Left time.Duration
	// Late is how late the last request was sent.
	Late time.Duration
}

const (
	defaultConnections = 16
	defaultTimeout     = 10 * time.Second
	defaultMaxResponse = 4 << 20
	defaultRepeatEvery = 10

	// The look-ahead: how many exchanges are held that are not compared yet,
	// and how many bytes of bodies, at least one exchange.
	lookAhead      = 1024
	lookAheadBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.RepeatEvery <= 0 {
		o.RepeatEvery = defaultRepeatEvery
	}
	return o
}

// Run replays a log and reports. An end of ctx ends it early: the report then
// holds what is known. The error says that there is nothing to report.
func Run(ctx context.Context, log Log, o Options) (*Report, error) {
	o = o.withDefaults()
	if o.Against == "" {
		return nil, whittle.Errorf(whittle.Invalid, "replay: no server is given").WithHint("say --against URL")
	}
	directory, err := newDirectory(&o)
	if err != nil {
		return nil, err
	}
	defer directory.close()
	if o.Routes == nil {
		if err := directory.group(ctx, log); err != nil {
			return nil, err
		}
	}
	s, err := look(ctx, log, directory)
	if err != nil {
		return nil, err
	}
	if err := directory.settle(&o, s); err != nil {
		return nil, err
	}
	if o.Cases != nil {
		o.Cases.given, o.Cases.show = o.Header, o.Show
	}
	p := &player{o: &o, log: log, dir: directory, survey: s, book: newBook(&o, directory, s)}
	p.play(ctx)
	return p.book.report(log), nil
}
