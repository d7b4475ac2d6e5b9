// Package logqueue writes log lines without making the caller wait. Lines are queued
// within a bound and written by one goroutine; what does not fit is dropped, counted,
// and reported once the log takes lines again. A pipe that nobody reads, or a full
// disk, costs lines and nothing else.
package logqueue

import (
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
	report func(dropped int64)

	wake    notify.Signal
	ended   chan struct{} // closed when all has been written after Close
	dropped atomic.Int64

	mu      sync.Mutex // guards the following
	waiting []byte
	closed  bool
}

// New begins to write to w what the queue gets. report is called when lines were
// dropped and the log takes some again; it may write to the queue.
func New(w io.Writer, report func(dropped int64)) *Queue {
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
	var said int64
	for {
		var closed bool
		if buf, closed = q.take(buf); len(buf) == 0 {
			if closed {
				return
			}
			<-q.wake
			continue
		}
		_, _ = q.w.Write(buf) // there is no other place to say that the log fails
		if n := q.dropped.Load(); n > said && !closed {
			q.report(n - said)
			said = n
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

// Dropped is how many lines had no room.
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
	"Log lines that were dropped because nobody took those before them.", nil, nil)

// Describe implements prometheus.Collector.
func (q *Queue) Describe(ch chan<- *prometheus.Desc) { ch <- descDropped }

// Collect implements prometheus.Collector.
func (q *Queue) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(descDropped, prometheus.CounterValue, float64(q.Dropped()))
}
