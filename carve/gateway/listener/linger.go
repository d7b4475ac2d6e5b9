package listener

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// lingering bounds what is read and dropped behind the last response. Closing with bytes
// unread would make the kernel reset the connection, and who sends all of its request
// before it reads anything would lose the response.
type lingering struct {
	total time.Duration
	idle  time.Duration // without a byte
	bytes int64
}

var (
	// patiently is for the rest of a request that is in order, as nginx has it
	// (lingering_time and lingering_timeout).
	patiently = lingering{total: 30 * time.Second, idle: 5 * time.Second, bytes: 1 << 30}
	// shortly is for connections that do not speak HTTP.
	shortly = lingering{total: time.Second, idle: time.Second, bytes: 1 << 20}
)

// stopTime is how long a client that is still sending has to read the response and stop
// by itself, before anything is dropped.
const stopTime = 500 * time.Millisecond

var dropped = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// linger reads and drops what comes, until it ends or has come for too long: for a second
// more once draining is set, which may be nil. Whatever ends it, the connection goes.
func linger(c net.Conn, l lingering, draining *atomic.Bool) {
	b := dropped.Get().(*[32 << 10]byte)
	defer dropped.Put(b)
	now := time.Now()
	end, silent := now.Add(l.total), now.Add(l.idle)
	for l.bytes > 0 {
		if draining != nil && draining.Load() {
			end, draining = earliest(end, now.Add(shortly.total)), nil
		}
		if c.SetReadDeadline(earliest(end, silent, now.Add(shortly.idle))) != nil {
			return
		}
		n, err := c.Read(b[:])
		now = time.Now()
		if n > 0 {
			l.bytes, silent = l.bytes-int64(n), now.Add(l.idle)
		}
		waits := errors.Is(err, os.ErrDeadlineExceeded) && now.Before(silent)
		if err != nil && !waits || !now.Before(end) {
			return
		}
	}
}

func earliest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.Before(first) {
			first = t
		}
	}
	return first
}
