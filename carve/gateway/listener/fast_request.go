package listener

import (
	"errors"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"whittle/internal/http1"
	"whittle/internal/lifetime"
)

// fastRequest is one request on the fast path, with all that belongs to it.
type fastRequest struct {
	http.Request
	c    *fastConn
	ctx  *lifetime.Context
	url  url.URL
	body fastBody
	w    fastWriter
}

// newFastRequest makes the request of the connection's head, and takes the head out of
// the buffer. It gives nil, and leaves all as it is, where the request is net/http's.
func newFastRequest(c *fastConn, ctx *lifetime.Context) *fastRequest {
	h := &c.in.head
	x := &fastRequest{c: c, ctx: ctx}
	raw := h.Raw()
	if !setURL(&x.url, string(h.Target())) {
		return nil
	}
	x.fields(h, string(raw))
	c.from += len(raw)
	x.URL, x.Proto, x.ProtoMajor, x.ProtoMinor = &x.url, "HTTP/1.1", 1, 1
	x.RemoteAddr, x.TLS, x.Close = c.remote, c.tls, h.Closes()
	f := h.Framing()
	x.ContentLength, x.Body = f.Length, http.NoBody
	if f.Kind == http1.Chunked {
		x.ContentLength, x.TransferEncoding = -1, chunkedCoding
	}
	if x.ContentLength != 0 {
		x.body.c, x.Body = c, &x.body
		x.body.framed.Begin(f)
	}
	x.w.begin(c, x.Method == http.MethodHead, x.Close)
	x.Request = *x.WithContext(ctx)
	return x
}

// everyday reports whether a head is one for the fast path.
func everyday(h *http1.RequestHead) bool {
	return !h.HTTP10() && h.Form() == http1.Origin && !h.Upgrades() && !has(h, "expect") && !has(h, "trailer")
}

var chunkedCoding = []string{"chunked"}

func has(h *http1.RequestHead, name string) bool {
	_, ok := h.Value(name)
	return ok
}

// fields fills in the parts of the head, which are parts of text.
func (x *fastRequest) fields(h *http1.RequestHead, text string) {
	at := strings.IndexByte(text, ' ')
	x.Method = strings.TrimPrefix(text[:at], "\r\n")
	x.RequestURI = text[at+1:][:len(h.Target())]
	x.Header = make(http.Header, h.Len())
	values := make([]string, h.Len()) // one piece of memory for all
	for i := range values {
		name, value := h.In(text, i)
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "Host":
			x.Host = value
			continue
		case "Transfer-Encoding":
			continue // net/http takes it out as well
		}
		if had := x.Header[name]; had != nil {
			x.Header[name] = append(had, value)
			continue
		}
		values[i] = value
		x.Header[name] = values[i : i+1 : i+1]
	}
}

// setURL reads a target as net/http does. False: it refuses it.
func setURL(u *url.URL, target string) bool {
	path, query, asked := strings.Cut(target, "?")
	if !isPlain(path) {
		full, err := url.ParseRequestURI(target)
		if err != nil {
			return false
		}
		*u = *full
		return true
	}
	u.Path, u.RawQuery, u.ForceQuery = path, query, asked && query == ""
	return true
}

// isPlain reports whether a path means what it says: no byte of it is, or would have
// to be, escaped.
func isPlain[P string | []byte](path P) bool {
	for i := range len(path) {
		switch c := path[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '/', c == '-', c == '_', c == '.', c == '~':
		default:
			return false
		}
	}
	return true
}

// fastBody is a request's body. One goroutine at a time reads it.
type fastBody struct {
	c      *fastConn
	framed http1.Body
	piece  []byte // content that has been found in the buffer
	err    error
}

// ended reports whether all of the body has been returned, so that what follows in the
// buffer is the next request.
func (b *fastBody) ended() bool { return len(b.piece) == 0 && b.framed.Done() && b.err == nil }

// Close implements io.Closer.
func (b *fastBody) Close() error { return nil }

// Read implements io.Reader. The end comes with the last bytes wherever it is known
// by then.
func (b *fastBody) Read(p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	for {
		if err := b.advance(); err != nil {
			return 0, err
		}
		if len(b.piece) > 0 {
			n = copy(p, b.piece)
			b.piece = b.piece[n:]
			if b.advance() == nil && b.ended() { // an error is for the next read
				err = b.end()
			}
			return n, err
		}
		if b.framed.Done() {
			return 0, b.end()
		}
		if b.c.from == b.c.to && b.framed.Rest() > 0 {
			return b.direct(p)
		}
		if err := b.c.readMore(); err != nil {
			return 0, b.fail(err)
		}
	}
}

// advance finds the next content in what has been read.
func (b *fastBody) advance() error {
	c := b.c
	for b.err == nil && len(b.piece) == 0 && c.from < c.to && !b.framed.Done() {
		piece, n, err := b.framed.Next(c.in.bytes[c.from:c.to])
		c.from += n
		switch {
		case err != nil:
			c.l.s.malformed.Add(1)
			c.over.Store(true)
			b.err = errFraming
		case n == 0 && c.to-c.from == fastBuffer:
			c.over.Store(true)
			b.err = errFraming // a trailer that is longer than a head may be
		case n == 0:
			return nil
		}
		b.piece = piece
	}
	return b.err
}

// direct reads content to where it is wanted.
func (b *fastBody) direct(p []byte) (int, error) {
	n, err := b.c.reads.read(p[:min(int64(len(p)), b.framed.Rest())])
	if n == 0 {
		if err == nil {
			err = io.ErrNoProgress
		}
		return 0, b.fail(err)
	}
	if _, _, err := b.framed.Next(p[:n]); err != nil {
		b.err = err
		return 0, err
	}
	if b.ended() {
		return n, b.end()
	}
	return n, nil
}

func (b *fastBody) fail(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	b.err = err
	b.c.over.Store(true)
	return err
}

// end is the end of the body. A client that went while it was being read is gone now.
func (b *fastBody) end() error {
	if c := b.c; c.gone.Load() && c.from == c.to && c.ended() {
		if ctx := c.now.Load(); ctx != nil {
			ctx.Cancel()
		}
	}
	return io.EOF
}
