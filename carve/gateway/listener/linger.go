package listener

import (
	"net"
	"sync"
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
	// shortly is for what is no HTTP.
	shortly = lingering{total: time.Second, idle: time.Second, bytes: 1 << 20}
)

// stopTime is how long a client that is still sending has to read the response and stop
// by itself, before anything is dropped.
const stopTime = 500 * time.Millisecond

var dropped = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// linger reads and drops what comes, until it ends or has come for too long. Whatever
// ends it, the connection goes.
func linger(c net.Conn, l lingering) {
	b := dropped.Get().(*[32 << 10]byte)
	defer dropped.Put(b)
	for now, end := time.Now(), time.Now().Add(l.total); now.Before(end) && l.bytes > 0; now = time.Now() {
		until := now.Add(l.idle)
		if until.After(end) {
			until = end
		}
		if c.SetReadDeadline(until) != nil {
			return
		}
		n, err := c.Read(b[:])
		if l.bytes -= int64(n); err != nil {
			return
		}
	}
}
