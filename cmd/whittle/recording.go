package main

import (
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/gateway"
	"whittle/internal/jsonpath"
	"whittle/record/journal"
	"whittle/record/recorder"
	"whittle/record/redact"
)

// recording is what a running gateway redacts and records, changed by reloads.
// It is the redactor of what is shown, and the taker of what is recorded.
type recording struct {
	log *slog.Logger
	// key of the tokens while nothing is recorded.
	key      []byte
	redactor atomic.Pointer[redact.Redactor]
	recorder atomic.Pointer[recorder.Recorder] // nil: nothing is recorded
	conf     *config.Record                    // in force; of the goroutine that reloads
}

// newRecording begins to record as a config says. Errors carry the config's
// Field.
func newRecording(f *config.File, log *slog.Logger) (*recording, error) {
	c := &recording{log: log, key: redact.NewKey()}
	return c, c.put(f)
}

// put brings another config in force. On an error the one before stays in
// force, but for a log whose own bounds were to change: it could not be opened
// again, and nothing is recorded.
func (c *recording) put(f *config.File) error {
	key, err := c.keyOf(f.Record)
	if err != nil {
		return errors.Join(inConfig("record.key_file", err)...)
	}
	r, err := redact.New(redact.Rules(f.Redact), key)
	if err != nil {
		return errors.Join(inConfig("redact", err)...)
	}
	old, now := c.recorder.Load(), f.Record
	switch {
	case now == nil:
		c.recorder.Store(nil)
		c.end(old)
	case old != nil && sameLog(c.conf, now):
		old.Redact(r)
	default:
		if old != nil && c.conf.Dir == now.Dir {
			c.recorder.Store(nil)
			c.end(old) // one writer at a time
			old = nil
		}
		next, err := recorder.Open(recorder.Options{
			Dir: now.Dir, Journal: journal.Options{MaxBytes: now.MaxBytes, MaxAge: now.MaxAge}, Redactor: r, Log: c.log,
		})
		if err != nil {
			return errors.Join(inConfig("record.dir", err)...)
		}
		c.recorder.Store(next)
		c.end(old)
	}
	c.redactor.Store(r)
	c.conf = now
	return nil
}

func (c *recording) keyOf(rec *config.Record) ([]byte, error) {
	if rec == nil {
		return c.key, nil
	}
	return recorder.Key(rec.KeyFile)
}

// sameLog reports whether two configs differ in nothing that a log is opened
// with.
func sameLog(a, b *config.Record) bool {
	return a != nil && b != nil && a.Dir == b.Dir && a.MaxBytes == b.MaxBytes && a.MaxAge == b.MaxAge
}

// inConfig puts the config's field before each error's own.
func inConfig(field string, err error) (faults []error) {
	many := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		many = joined.Unwrap()
	}
	for _, one := range many {
		e, ok := errors.AsType[*whittle.Error](one)
		switch {
		case !ok:
			faults = append(faults, one)
		case e.Field == "":
			faults = append(faults, e.WithField(field))
		default:
			faults = append(faults, e.WithField(field+"."+e.Field))
		}
	}
	return faults
}

// end writes what waits and closes a log.
func (c *recording) end(r *recorder.Recorder) {
	if r == nil {
		return
	}
	if err := r.Close(); err != nil {
		c.log.Error("close the log of recorded exchanges", "error", err)
	}
}

// close ends recording.
func (c *recording) close() {
	if c != nil {
		c.end(c.recorder.Swap(nil))
	}
}

// take is the gateway's Options.Record.
func (c *recording) take(x *whittle.Exchange) bool {
	r := c.recorder.Load()
	return r != nil && r.Offer(x)
}

// setRecording says what of the requests without a route is recorded.
func setRecording(g *gateway.Gateway, f *config.File) {
	if f.Record == nil {
		g.SetRecording(0, 0)
		return
	}
	g.SetRecording(f.Record.Sample, f.Record.MaxBody)
}

// Request implements compare.Redactor.
func (c *recording) Request(q *whittle.Request) { c.redactor.Load().Request(q) }

// Response implements compare.Redactor.
func (c *recording) Response(a *whittle.Response) { c.redactor.Load().Response(a) }

// Value implements compare.Redactor.
func (c *recording) Value(place []jsonpath.Element, v []byte) []byte {
	return c.redactor.Load().Value(place, v)
}

// Describe implements prometheus.Collector. What is recorded changes with the
// config, so it is an unchecked collector and describes nothing.
func (c *recording) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *recording) Collect(ch chan<- prometheus.Metric) {
	if r := c.recorder.Load(); r != nil {
		r.Collect(ch)
	}
}
