package embedded

import (
	"sync"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Stats is what a log is and has done since it was opened.
type Stats struct {
	First, Next stream.Position
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
	// disk as a whole. Unexplained is how many of the bytes that it found behind the
	// last batch tearing does not explain; they are kept in a file *.aside.
	Torn, Unexplained int64
	// Missing is how many records the end mark says to have been on the disk
	// that Open did not find at the log's end. Their offsets stay theirs.
	Missing uint64

	Scrub Scrub
}

// Scrub is how far the background scrub is.
type Scrub struct {
	Passes uint64 // finished
	Bytes  int64  // read, in all
	// Corrupt is how many corrupt records the pass under way or the last one
	// has met, whichever is more; Damaged how many places were damaged that cost
	// no record.
	Corrupt, Damaged uint64
}

// Stats returns the figures as of now.
func (l *Log) Stats() Stats {
	s := l.counts.get()
	s.Torn, s.Unexplained, s.Missing = l.ends.torn, l.ends.unexplained, l.ends.missing
	l.mu.Lock()
	defer l.mu.Unlock()
	s.First, s.Next = position(l.first), position(l.next)
	s.Segments = len(l.segments)
	for _, seg := range l.segments {
		s.Bytes += seg.size
	}
	return s
}

// counter counts commits and scrubs.
type counter struct {
	mu sync.Mutex // guards the following
	s  Stats
	// pass is what the scrub under way has met, last the one before.
	pass, last checked
}

func (c *counter) get() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.s
	s.Scrub.Corrupt = max(c.pass.corrupt, c.last.corrupt)
	s.Scrub.Damaged = max(c.pass.damaged, c.last.damaged)
	return s
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

func (c *counter) scrubbed(done checked) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Scrub.Bytes += done.bytes
	c.pass.corrupt += done.corrupt
	c.pass.damaged += done.damaged
}

func (c *counter) passed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.s.Scrub.Passes++
	c.last, c.pass = c.pass, checked{}
}
