package listener

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"

	"whittle/internal/conns"
	"whittle/internal/http1"
)

// errFraming becomes a 400 at net/http's hands, and the connection ends.
var errFraming = errors.New("the request's framing is not exact")

// Conn is a client's connection. It checks HTTP/1.1 requests by internal/http1
// before net/http reads them. net/http is lenient where RFC 9112 lets it be: it
// takes a bare LF for a line end, joins folded lines, ignores Content-Length where
// there is Transfer-Encoding. Each is harmless alone, but allows request smuggling as
// soon as a proxy in front of whittle reads the same bytes differently. So every
// request with two readings is refused here.
//
// It follows the stream by itself: a head, then its body, then the next head. It
// never holds bytes back. Bytes before the offending line have been passed on, but
// not the end of their block, so net/http never makes a request of them.
type Conn struct {
	net.Conn
	malformed *atomic.Int64
	server    *ending // nil: it does not end

	first bool // no request has come yet
	free  bool // the protocol is no longer HTTP/1.1, and nothing is checked
	// empty counts the bytes of an empty line before the present head.
	empty    int
	requests http1.Requests
	// filler is how many bytes are put in the place of a head that is longer than it may
	// be, and of what follows.
	filler int
	// begun says that something of the present body has come.
	begun bool
	err   error

	// over says that no further request may be read: see EndRequests.
	over atomic.Bool
	bad  atomic.Bool // err is set
	// closing says that Close was called.
	closing atomic.Bool
	// number is the connection's, 0 where it has none yet.
	number uint64
	// tls is what was agreed on; nil where nothing is encrypted.
	tls *tls.ConnectionState
}

// ending is how far a server has come in ending.
type ending struct {
	// draining says that no connection is to be kept, and cuts that those left have had their time.
	draining, cuts atomic.Bool
}

func (g *Conn) draining() *atomic.Bool {
	if g.server == nil {
		return nil
	}
	return &g.server.draining
}

// preface is how a connection of HTTP/2 begins, whose frames say their own length.
const preface = "PRI * HTTP/2.0\r\n"

// more is how much above its limit net/http reads of a head, and some.
const more = 8 << 10

// newStrictConn bounds a head at limit, beyond which net/http responds with 431.
func newStrictConn(c net.Conn, limit int, malformed *atomic.Int64, server *ending) *Conn {
	const perField, fields = 16, 2000
	limits := http1.Limits{Head: limit, Fields: max(limit/perField, fields)}
	g := &Conn{Conn: c, malformed: malformed, server: server, first: true}
	g.requests.Head.Limits, g.requests.Body.Limits = limits, limits
	return g
}

// Read implements net.Conn. net/http reads from one goroutine at a time.
func (g *Conn) Read(p []byte) (int, error) {
	for {
		if g.over.Load() {
			return 0, io.EOF
		}
		switch {
		case g.err != nil:
			return 0, g.refused(p)
		case g.filler > 0:
			return g.lengthen(p), nil
		}
		n, err := g.Conn.Read(p)
		if n == 0 || g.free {
			return n, err
		}
		good, ok := g.check(p[:n])
		switch {
		case !ok:
			g.err = errFraming
			g.bad.Store(true)
			g.malformed.Add(1)
			if good == 0 {
				return 0, g.refused(p)
			}
			return good, nil
		case good > 0 || err != nil:
			return good, err
		}
		// All that came was an empty line.
	}
}

// refused gives the error to who reads a request. Reads of one byte are net/http's
// watch for the client's going, while the request before is being served: an error
// would take its response. What stands behind the garbage is dropped until the
// response has been given, which ends the watch, or the client goes.
func (g *Conn) refused(p []byte) error {
	if len(p) > 1 {
		return g.err
	}
	var dropped [512]byte
	for {
		if _, err := g.Conn.Read(dropped[:]); err != nil {
			return err
		}
	}
}

// lengthen makes a head that is too long so long that net/http refuses it with 431: its
// own limit lies 4 KiB above the one that it is given.
func (g *Conn) lengthen(p []byte) int {
	for i := range p {
		p[i] = 'x'
	}
	if g.filler -= len(p); g.filler <= 0 {
		g.err = errFraming
	}
	return len(p)
}

// EndRequests has net/http see the connection's end from now on. The response
// under way is still written, and the client given time to read it.
func (g *Conn) EndRequests() { g.over.Store(true) }

// Close implements net.Conn. It lingers once: who closes the connection again, as a server
// does with those that have had their time, closes it at once. So does whoever closes it
// first then, since a server closes one after the other.
func (g *Conn) Close() error {
	if g.closing.Swap(true) || g.server != nil && g.server.cuts.Load() {
		return g.Conn.Close()
	}
	switch bad := g.bad.Load(); {
	case bad && g.CloseWrite() == nil:
		linger(g.Conn, shortly, nil)
	case !bad && g.over.Load() && g.CloseWrite() == nil:
		linger(g.Conn, patiently, g.draining())
	}
	return g.Conn.Close()
}

// CloseWrite lets net/http and upgrades close one direction.
func (g *Conn) CloseWrite() error { return conns.CloseWrite(g.Conn) }

// check gives how many bytes of p are to be handed on, once an empty line before
// a head has been taken out of p. If it is not ok, these bytes come before the
// refused ones.
func (g *Conn) check(p []byte) (good int, ok bool) {
	for at := 0; at < len(p); {
		if g.free {
			return len(p), true
		}
		if begins := g.requests.Body.Done() && len(g.requests.Part()) == 0; begins {
			if skip := g.skipEmptyLine(p[at:]); skip > 0 {
				p = append(p[:at], p[at+skip:]...)
				continue
			}
			if g.empty == 1 || p[at] == '\r' {
				return at, false // a CR alone, or a second empty line
			}
		}
		n, ok := g.follow(p[at:])
		if at += n; !ok {
			return at, false
		}
	}
	return len(p), true
}

// skipEmptyLine gives how many bytes of in belong to an empty line before a head
// (RFC 9112, section 2.2). net/http does not skip it.
func (g *Conn) skipEmptyLine(in []byte) (n int) {
	const line = "\r\n"
	for n < len(in) && g.empty < len(line) && in[n] == line[g.empty] {
		g.empty++
		n++
	}
	return n
}

// follow gives how many bytes of in belong to the present head or body.
func (g *Conn) follow(in []byte) (n int, ok bool) {
	r := &g.requests
	if g.beginsHTTP2(in) {
		r.Keep(in)
		g.free = len(r.Part()) >= len(preface)
		return len(in), true
	}
	g.begun = !r.Body.Done()
	n, head, err := r.Next(in)
	if e, ok := errors.AsType[*http1.Error](err); ok && e.TooLarge() && !g.begun {
		g.filler, g.free = r.Head.Limits.Head+more, true
		return g.lengthen(in), true
	}
	if head {
		g.first, g.empty, g.free = false, 0, g.leavesHTTP()
		r.Forget(keptFields)
	}
	return n, err == nil
}

// beginsHTTP2 reports whether what has come is the beginning of HTTP/2 so far.
func (g *Conn) beginsHTTP2(in []byte) bool {
	had := g.requests.Part()
	n := min(len(had)+len(in), len(preface))
	return g.first && g.empty == 0 && g.requests.Body.Done() && len(had) < n && string(had) == preface[:len(had)] &&
		string(in[:n-len(had)]) == preface[len(had):n]
}

// keptFields is the number of fields for which a connection keeps memory.
const keptFields = 64

// leavesHTTP reports whether the request asks for another protocol that UpgradeOf
// allows. The bytes after it may then belong to that protocol. If the protocol does
// not change, the connection ends.
func (g *Conn) leavesHTTP() bool {
	h := &g.requests.Head
	if !h.Upgrades() {
		return false
	}
	for i := range h.Len() {
		f := h.Field(i)
		if strings.EqualFold(string(f.Name), "upgrade") && len(f.Value) > 0 && !strings.EqualFold(string(f.Value), "h2c") {
			return true
		}
	}
	return false
}
