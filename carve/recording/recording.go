// Package recording is the redactor and the recorder of a running gateway, replaced by
// reloads of its config.
package recording

import (
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

// Recording is what a running gateway redacts and records, changed by reloads.
// It is the redactor of what is shown, and the taker of what is recorded.
type Recording struct {
	log *slog.Logger
	// key of the tokens while nothing is recorded.
	key      []byte
	redactor atomic.Pointer[redact.Redactor]
	recorder atomic.Pointer[recorder.Recorder] // nil: nothing is recorded
	conf     *config.Record                    // in force; of the goroutine that reloads
}

// New begins to record as a config says. Errors carry the config's
// Field.
func New(f *config.File, log *slog.Logger) (*Recording, error) {
	c := &Recording{log: log, key: redact.NewKey()}
	return c, c.Put(f)
}

// Put brings another config in force. On an error the one before stays in
// force, but for a log whose own bounds were to change: it could not be opened
// again, and nothing is recorded.
func (c *Recording) Put(f *config.File) error {
	key, err := c.keyOf(f.Record)
	if err != nil {
		return whittle.Within("record.key_file", err)
	}
	r, err := redact.New(f.Redact, key)
	if err != nil {
		return whittle.Within("redact", err)
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
			return whittle.Within("record.dir", err)
		}
		c.recorder.Store(next)
		c.end(old)
	}
	c.redactor.Store(r)
	c.conf = now
	return nil
}

func (c *Recording) keyOf(rec *config.Record) ([]byte, error) {
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

// end writes what waits and closes a log.
func (c *Recording) end(r *recorder.Recorder) {
	if r == nil {
		return
	}
	if err := r.Close(); err != nil {
		c.log.Error("close the log of recorded exchanges", "err", err)
	}
}

// Close ends recording.
func (c *Recording) Close() {
	if c != nil {
		c.end(c.recorder.Swap(nil))
	}
}

// Take is the gateway's Options.Record.
func (c *Recording) Take(x *whittle.Exchange) bool {
	r := c.recorder.Load()
	return r != nil && r.Offer(x)
}

// SetOn says what of the requests without a route is recorded.
func SetOn(g *gateway.Gateway, f *config.File) {
	if f.Record == nil {
		g.SetRecording(0, 0)
		return
	}
	g.SetRecording(f.Record.Sample, f.Record.MaxBody)
}

// Request implements compare.Redactor.
func (c *Recording) Request(q *whittle.Request) { c.redactor.Load().Request(q) }

// Response implements compare.Redactor.
func (c *Recording) Response(a *whittle.Response) { c.redactor.Load().Response(a) }

// Value implements compare.Redactor.
func (c *Recording) Value(place []jsonpath.Element, v []byte) []byte {
	return c.redactor.Load().Value(place, v)
}

// Describe implements prometheus.Collector. What is recorded changes with the
// config, so it is an unchecked collector and describes nothing.
func (c *Recording) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Recording) Collect(ch chan<- prometheus.Metric) {
	if r := c.recorder.Load(); r != nil {
		r.Collect(ch)
	}
}
