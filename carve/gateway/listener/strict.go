package listener

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"whittle/internal/httpfield"
)

// errFraming becomes a 400 at net/http's hands, and the connection ends.
var errFraming = errors.New("the request's framing is not exact")

// Conn is a client's connection. It checks the framing of HTTP/1.1 requests before net/http reads them.
// net/http is lenient where RFC 9112 lets it be: it takes a bare LF for a line
// end, joins folded lines, ignores a length beside chunks. Each is harmless
// alone, and a way to smuggle as soon as something in front of whittle reads
// the same bytes otherwise. So whatever has two readings is refused here.
//
// It follows the stream by itself: line by line in a header, by length or
// chunks in a body. It never holds bytes back; bytes before the offending line
// have been handed on, but not the end of their block, so that no request is
// ever made of them.
type Conn struct {
	net.Conn
	malformed *atomic.Int64
	// limit bounds a header line; net/http's own bound responses 431 before.
	limit int

	phase guardPhase
	first bool   // nothing has been read yet
	line  []byte // the beginning of a line whose end has not come yet
	left  int64  // bytes of the body or chunk still to come
	// what the present header has said so far
	http10    bool
	length    int64 // -1: nothing
	chunked   bool
	upgrade   bool   // to what UpgradeOf would pass on
	asks      bool   // Connection names Upgrade
	authority string // of a target in absolute form
	host      string
	hosts     int
	err       error

	// over says that no further request may be read: see EndRequests.
	over atomic.Bool
}

type guardPhase uint8

const (
	guardRequest guardPhase = iota // a request line comes next
	guardHeader
	guardBody    // left bytes of a body
	guardSize    // a chunk's size line
	guardChunk   // left bytes of a chunk
	guardEnd     // the line end after a chunk
	guardTrailer // lines after the last chunk
	guardFree    // no longer HTTP/1.1: nothing is checked
)

func newStrictConn(c net.Conn, limit int, malformed *atomic.Int64) *Conn {
	return &Conn{Conn: c, limit: limit + 8<<10, malformed: malformed, first: true, length: -1}
}

// Read implements net.Conn. net/http reads from one goroutine at a time.
func (g *Conn) Read(p []byte) (int, error) {
	if g.over.Load() {
		return 0, io.EOF
	}
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(p)
	if n == 0 || g.phase == guardFree {
		return n, err
	}
	if good := g.check(p[:n]); good < n {
		g.err = errFraming
		g.malformed.Add(1)
		if good == 0 {
			return 0, g.err
		}
		return good, nil
	}
	return n, err
}

// EndRequests has net/http see the connection's end from now on. The response
// under way is still written, and the client given time to read it.
func (g *Conn) EndRequests() { g.over.Store(true) }

const (
	// lingerTime and lingerBytes bound what is read and dropped after the last
	// response: closing with bytes unread would make the kernel reset the
	// connection, and the response might be lost with it.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

// Close implements net.Conn.
func (g *Conn) Close() error {
	if g.over.Load() && g.CloseWrite() == nil && g.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, g.Conn, lingerBytes) // whatever ends it, the connection goes
	}
	return g.Conn.Close()
}

// connKey finds, in a request's context, the *numbered that it came by.
type connKey struct{}

// numbered is a client's connection with its number.
type numbered struct {
	conn   *Conn
	number uint64
}

// ConnOf finds the client's connection and its number, counted from 1. The
// connection is nil where it speaks HTTP/2, since other streams share it. Both
// are zero where the request did not come by Serve.
func ConnOf(r *http.Request) (c *Conn, number uint64) {
	n, ok := r.Context().Value(connKey{}).(*numbered)
	switch {
	case !ok:
		return nil, 0
	case r.ProtoMajor != 1:
		return nil, n.number
	}
	return n.conn, n.number
}

// connContext is http.Server's ConnContext.
func (s *Server) connContext(ctx context.Context, c net.Conn) context.Context {
	n := &numbered{number: s.conns.Add(1)}
	n.conn, _ = c.(*Conn)
	return context.WithValue(ctx, connKey{}, n)
}

// CloseWrite lets net/http and upgrades close one direction.
func (g *Conn) CloseWrite() error {
	if c, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// check gives how many bytes of p may be handed on: all, or those before the
// line that is wrong.
func (g *Conn) check(p []byte) int {
	for at := 0; at < len(p); {
		switch g.phase {
		case guardFree:
			return len(p)
		case guardBody, guardChunk:
			n := int(min(g.left, int64(len(p)-at)))
			at += n
			if g.left -= int64(n); g.left == 0 {
				if g.phase == guardBody {
					g.phase = guardRequest
				} else {
					g.phase = guardEnd
				}
			}
		default:
			i := bytes.IndexByte(p[at:], '\n')
			if i < 0 {
				if len(g.line)+len(p)-at > g.limit {
					return at
				}
				g.line = append(g.line, p[at:]...)
				return len(p)
			}
			line := p[at : at+i]
			if len(g.line) > 0 {
				g.line = append(g.line, line...)
				line = g.line
			}
			if !g.take(line) {
				return at
			}
			g.line = g.line[:0]
			at += i + 1
		}
	}
	return len(p)
}

// take reads one line, given without its LF.
func (g *Conn) take(line []byte) bool {
	if len(line) == 0 || line[len(line)-1] != '\r' {
		return false
	}
	line = line[:len(line)-1]
	first := g.first
	g.first = false
	switch g.phase {
	case guardRequest:
		return g.requestLine(line, first)
	case guardHeader:
		if len(line) == 0 {
			return g.headerEnd()
		}
		return g.headerLine(line)
	case guardSize:
		return g.sizeLine(line)
	case guardEnd:
		g.phase = guardSize
		return len(line) == 0
	default: // guardTrailer
		if len(line) == 0 {
			g.phase = guardRequest
			return true
		}
		name, _, ok := cutField(line)
		return ok && !framingName(name)
	}
}

func (g *Conn) requestLine(line []byte, first bool) bool {
	method, rest, ok1 := bytes.Cut(line, []byte(" "))
	target, proto, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || !httpfield.IsToken(method) || !httpfield.IsTarget(string(target)) {
		return false
	}
	g.length, g.chunked, g.upgrade, g.asks, g.authority, g.host, g.hosts = -1, false, false, false, "", "", 0
	switch string(proto) {
	case "HTTP/1.1":
		g.http10 = false
	case "HTTP/1.0":
		g.http10 = true
	case "HTTP/2.0":
		g.phase = guardFree // the preface of HTTP/2, whose frames say their own length
		return first && string(method) == "PRI"
	default:
		return false
	}
	if target[0] != '/' {
		if _, after, ok := strings.Cut(string(target), "://"); ok {
			g.authority = after
			if end := strings.IndexAny(after, "/?#"); end >= 0 {
				g.authority = after[:end]
			}
			if g.authority == "" {
				return false
			}
		}
	}
	g.phase = guardHeader
	return true
}

// cutField cuts a header line at its colon. A name followed by space, and a
// line that begins with one (obs-fold), are no fields.
func cutField(line []byte) (name, value []byte, ok bool) {
	i := bytes.IndexByte(line, ':')
	if i <= 0 || !httpfield.IsToken(line[:i]) || !httpfield.IsValue(line[i+1:]) {
		return nil, nil, false
	}
	return line[:i], bytes.Trim(line[i+1:], " \t"), true
}

func framingName(name []byte) bool {
	switch len(name) {
	case len("host"):
		return equalFold(name, "host")
	case len("content-length"):
		return equalFold(name, "content-length")
	case len("transfer-encoding"):
		return equalFold(name, "transfer-encoding")
	}
	return false
}

func equalFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func (g *Conn) headerLine(line []byte) bool {
	name, value, ok := cutField(line)
	if !ok {
		return false
	}
	switch {
	case equalFold(name, "content-length"):
		n, ok := httpfield.ParseLength(string(value))
		if !ok || g.length >= 0 {
			return false
		}
		g.length = n
	case equalFold(name, "transfer-encoding"):
		if g.chunked || !equalFold(value, "chunked") {
			return false
		}
		g.chunked = true
	case equalFold(name, "host"):
		g.hosts++
		g.host = string(value)
	case equalFold(name, "upgrade"):
		g.upgrade = g.upgrade || len(value) > 0 && !equalFold(value, "h2c")
	case equalFold(name, "connection") && !equalFold(value, "keep-alive"):
		g.asks = g.asks || httpfield.HasToken([]string{string(value)}, "upgrade")
	}
	return true
}

func (g *Conn) headerEnd() bool {
	switch {
	case g.chunked && (g.length >= 0 || g.http10), g.hosts > 1:
		return false
	case g.authority != "" && g.hosts == 1 && !strings.EqualFold(g.authority, g.host):
		return false
	}
	switch {
	case g.upgrade && g.asks:
		g.phase = guardFree // what follows may be another protocol's; if not, the connection ends
	case g.chunked:
		g.phase = guardSize
	case g.length > 0:
		g.phase, g.left = guardBody, g.length
	default:
		g.phase = guardRequest
	}
	return true
}

func (g *Conn) sizeLine(line []byte) bool {
	size, ok := httpfield.ParseChunkSize(line)
	if !ok {
		return false
	}
	g.phase, g.left = guardChunk, size
	if size == 0 {
		g.phase = guardTrailer
	}
	return true
}

// UpgradeOf gives what an HTTP/1.1 request wants to change to, or "".
func UpgradeOf(r *http.Request) string {
	if r.ProtoMajor != 1 || r.Header["Upgrade"] == nil || !httpfield.HasToken(r.Header["Connection"], "upgrade") {
		return ""
	}
	kind := strings.Join(r.Header["Upgrade"], ", ")
	if !httpfield.IsValue(kind) || strings.EqualFold(kind, "h2c") {
		return "" // whittle speaks h2c itself, by prior knowledge
	}
	return kind
}
