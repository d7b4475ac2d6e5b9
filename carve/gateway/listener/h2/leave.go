package h2

import (
	"crypto/tls"
	"errors"
	"os"
	"time"

	"whittle/internal/conns"
)

// departure is how far a connection has come in ending.
type departure uint8

const (
	stays  departure = iota
	isToGo           // the client is told when its streams have ended, or it has begun another and is silent for a moment
	leaves           // it was told, and may not have heard
	goes             // it has heard: what it begins now is not served
)

const (
	// A client that is to go is told when it has begun nothing for lullTime, within pauseTime:
	// browsers fail what they are about to begin.
	lullTime  = 100 * time.Millisecond
	pauseTime = 2 * time.Second
	// departTime is how long a client may take to hear that it is to go.
	departTime = time.Second
	// lingerTime is how long a client that has taken everything is silent before its
	// connection is closed, lingerBytes how much is read and dropped until then: what it
	// sends to a closed connection makes the kernel reset it, and the last response might be
	// lost with it.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// departPing distinguishes the ping that asks whether the client has heard.
var departPing = []byte("departed")

// leave has the client go: what it begins before it has heard is served. It hears of it when
// it has no stream, since some clients (Python's h2 and so httpx, Java's, undici) lose requests
// under way at a GOAWAY. One that always has some hears when it begins others, in a moment
// in which it does not. Any goroutine may call it.
func (c *conn) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case len(c.streams) == 0:
		c.tellToLeave()
	case c.departure == stays:
		c.departure, c.leftAt = isToGo, time.Now()
	}
}

// tellToLeave tells the client to go, and asks whether it has heard. The caller holds mu.
func (c *conn) tellToLeave() {
	if c.departure < leaves && c.err == nil {
		c.dismiss()
		c.frame(framePing, 0, 0, departPing...)
	}
}

// dismiss tells the client to go, which has heard after a while. The caller holds mu.
func (c *conn) dismiss() {
	c.departure, c.leftAt = leaves, time.Now()
	c.numbers(frameGoAway, 0, maxWindow, uint32(codeNone))
	c.wake()
	c.rouse(c.leftAt.Add(departTime))
}

// depart is the second half of leave: the client has heard, or has had its time. The
// caller holds mu.
func (c *conn) depart() {
	if c.departure == leaves {
		c.departure = goes
		c.numbers(frameGoAway, 0, c.last, uint32(codeNone))
		c.wake()
		c.rouse(time.Now())
	}
}

// linger lets the client read what was written last: until it closes, or has taken all of
// it and is silent.
func (c *conn) linger() {
	if conns.CloseWrite(c.net) != nil {
		return
	}
	under := c.net
	if tc, ok := c.net.(*tls.Conn); ok { // the client's answer to close_notify may never come
		under = tc.NetConn()
		_ = conns.CloseWrite(under) // what follows ends either way
	}
	var dropped [512]byte
	takes, before := time.Now(), conns.Unsent(under)
	for left := lingerBytes; left > 0 && time.Since(takes) < c.s.c.StallTimeout; {
		if c.net.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
			return
		}
		n, err := c.net.Read(dropped[:])
		now := conns.Unsent(under)
		if n == 0 && (now == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return
		}
		if left -= n; now < before {
			takes, before = time.Now(), now
		}
	}
}
