package embedded

import (
	"sync"
	"time"

	"whittle"
)

// Stats is what a log is and has done since it was opened.
type Stats struct {
	First, Next uint64 // offsets
	Segments    int
	Bytes       int64 // that the segments take on the disk

	Commits uint64 // each one write and one sync
	Appends uint64 // calls acknowledged by them; a call that was split counts more than once
	Records uint64
	Written int64 // bytes, padding and frames included
	// SyncTotal is the time spent in the commits' syncs, SyncLast that of the
	// last one, SyncMax the longest.
	SyncTotal, SyncLast, SyncMax time.Duration

	// Failures is how often the log had to stop, because the disk was full or
	// failed; Failed is why it takes nothing now, nil while it does.
	Failures uint64
	Failed   error

	// Torn is how many bytes Open cut off, of batches that never came to the
	// disk as a whole.
	Torn int64
}

// Stats returns the figures as of now.
func (l *Log) Stats() Stats {
	s := l.counts.get()
	s.Torn = l.torn
	l.mu.Lock()
	defer l.mu.Unlock()
	s.First, s.Next = l.first, l.next
	s.Segments = len(l.segments)
	for _, seg := range l.segments {
		s.Bytes += seg.size
	}
	return s
}

// counter counts commits.
type counter struct {
	mu sync.Mutex // guards the following
	s  Stats
}

func (c *counter) get() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.s
}

func (c *counter) committed(b *batch, bytes int64, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Commits++
	c.s.Appends += uint64(b.appends)
	c.s.Records += uint64(b.count)
	c.s.Written += bytes
	c.s.SyncTotal += took
	c.s.SyncLast = took
	c.s.SyncMax = max(c.s.SyncMax, took)
}

// failed notes why the log takes nothing; nil: it takes appends again.
func (c *counter) failed(err *whittle.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.s.Failed = nil; err != nil {
		c.s.Failed = err
		c.s.Failures++
	}
}
