// Package logqueue writes log lines without making the caller wait. Lines are queued
// within a bound and written by one goroutine. A line that does not fit, or whose write
// fails, is dropped and counted, and the log gets the count once it takes lines again. A
// pipe that nobody reads, or a full disk, costs lines and nothing else.
package logqueue

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/internal/notify"
)

// bound is how many bytes of lines wait at most: some thousands of access records.
const bound = 1 << 20

// Queue is an io.Writer of lines, one a call. It is safe for concurrent use.
type Queue struct {
	w      io.Writer
	report func(to io.Writer, dropped int64)

	wake    notify.Signal
	ended   chan struct{} // closed when all has been written after Close
	dropped atomic.Int64

	mu      sync.Mutex // guards the following
	waiting []byte
	closed  bool
}

// New begins to write to w what the queue gets. report writes one line, on how many were
// dropped since it was called last, to the log itself: in the queue it could be dropped.
func New(w io.Writer, report func(to io.Writer, dropped int64)) *Queue {
	q := &Queue{w: w, report: report, wake: notify.New(), ended: make(chan struct{})}
	go q.run()
	return q
}

// Write takes a line. It never waits, and never fails: what has no room is dropped.
func (q *Queue) Write(line []byte) (int, error) {
	q.mu.Lock()
	if q.closed || len(q.waiting)+len(line) > bound {
		q.dropped.Add(1)
	} else {
		q.waiting = append(q.waiting, line...)
	}
	q.mu.Unlock()
	q.wake.Notify()
	return len(line), nil
}

// run writes what waits, all of it at once, until Close.
func (q *Queue) run() {
	defer close(q.ended)
	var buf []byte
	var reported int64
	for {
		var closed bool
		if buf, closed = q.take(buf); len(buf) == 0 {
			if closed {
				return
			}
			<-q.wake
			continue
		}
		if n, err := q.w.Write(buf); err != nil {
			q.dropped.Add(int64(bytes.Count(buf[n:], []byte("\n"))))
			continue // there is no other place to say that the log fails
		}
		if n := q.dropped.Load(); n > reported {
			q.report(q.w, n-reported)
			reported = n
		}
	}
}

// take gives what waits, and lets written be filled in its place.
func (q *Queue) take(written []byte) (lines []byte, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	lines, q.waiting = q.waiting, written[:0]
	return lines, q.closed
}

// Dropped is how many lines are not in the log.
func (q *Queue) Dropped() int64 { return q.dropped.Load() }

// Close writes what waits, for as long as within at most. Lines that come after it
// are dropped. A write that never returns is left behind.
func (q *Queue) Close(within time.Duration) {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.wake.Notify()
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-q.ended:
	case <-t.C:
	}
}

var descDropped = prometheus.NewDesc("whittle_log_lines_dropped_total",
	"Log lines that were dropped because nobody took those before them, or the log could not be written.", nil, nil)

// Describe implements prometheus.Collector.
func (q *Queue) Describe(ch chan<- *prometheus.Desc) { ch <- descDropped }

// Collect implements prometheus.Collector.
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(q.Dropped()))
}
