package wire

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"whittle/internal/http1"
)

// Bounds on what is read of a response. A target is not trusted to be a correct
// HTTP server.
const (
	maxHead     = 64 << 10 // status line and headers, and again for trailers
	maxInterim  = 16       // 1xx responses before the final one
	firstBuffer = 4 << 10
)

var errMalformed = errors.New("not a response of this protocol")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errMalformed}, args...)...)
}

// response is one HTTP response; head and body are valid until the next read.
type response struct {
	status int
	// head is the header section, one "name: value\r\n" after the other.
	head []byte
	body []byte // the first bytes of the body, as many as the caller asked for
	// size is the body's length, kept or not.
	size int64
	// setsCookies says that the head may have a Set-Cookie line.
	setsCookies bool
	// reusable says that the connection can be kept alive for another request.
	reusable bool
}

var crlf = []byte("\r\n")

// responseReader reads the HTTP/1.1 responses of one connection through one buffer.
type responseReader struct {
	in  io.Reader
	now func() time.Time
	buf []byte
	// buf[r:w] has been read from the connection and not been consumed.
	r, w int
	// received counts all bytes read; firstByte and lastByte are when the first byte of the
	// current response came, and the last one so far or the end of the connection.
	received            int64
	firstByte, lastByte time.Time

	parser http1.ResponseHead
	framed http1.Body
}

func newResponseReader(in io.Reader, now func() time.Time, size int) responseReader {
	return responseReader{
		in: in, now: now, buf: make([]byte, size),
		parser: http1.ResponseHead{Limits: http1.Limits{Head: maxHead, Fields: maxHead}},
		framed: http1.Body{
			Limits:    http1.Limits{Head: maxHead, Fields: maxHead},
			Tolerance: http1.PaddedSize | http1.FramingInTrailer, // the trailer is discarded
		},
	}
}

// readResponse reads one response. method is the request's; keep is how many bytes
// of the body to return. An error is errMalformed or one of the connection, and
// the connection cannot be used after it.
func (c *responseReader) readResponse(method string, keep int, a *response) error {
	c.firstByte = time.Time{}
	kept, body := a.head[:0], a.body[:0]
	*a = response{}
	for range maxInterim + 1 {
		if err := c.readHead(); err != nil {
			return err
		}
		a.status = c.parser.Status()
		if a.status == http.StatusSwitchingProtocols {
			return malformed("101 to a request that asked for no upgrade")
		}
		if a.status >= http.StatusOK {
			// Reading the body may overwrite the buffer, so the head is copied.
			a.head, a.body = append(kept, c.parser.Lines()...), body
			_, a.setsCookies = c.parser.Value("set-cookie")
			return c.readBody(c.parser.Framing(method), keep, a)
		}
	}
	return malformed("more than %d interim responses", maxInterim)
}

func (c *responseReader) readHead() error {
	for {
		n, err := c.parser.Parse(c.buf[c.r:c.w])
		if err != nil {
			return malformed("%w; it begins with %q", err, c.buf[c.r:min(c.w, c.r+16)])
		}
		if n > 0 {
			c.r += n
			return nil
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// readBody reads the response's body to its end, and keeps at most keep bytes of it.
func (c *responseReader) readBody(f http1.Framing, keep int, a *response) error {
	c.framed.Begin(f)
	for !c.framed.Done() {
		content, n, err := c.framed.Next(c.buf[c.r:c.w])
		if err != nil {
			return malformed("%w", err)
		}
		c.r += n
		a.size += int64(len(content))
		if room := keep - len(a.body); room > 0 {
			a.body = append(a.body, content[:min(len(content), room)]...)
		}
		if n > 0 {
			continue
		}
		if err := c.fill(); errors.Is(err, io.ErrUnexpectedEOF) {
			if err = c.framed.End(); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	// Surplus bytes would be taken for the next response.
	a.reusable = !c.parser.Closes() && f.Kind != http1.UntilClose && c.r == c.w
	return nil
}

// fill reads more into the buffer, behind what has not been consumed. The end of
// the stream is io.ErrUnexpectedEOF. What is not consumed is part of a head or of
// a trailer section, whose bounds so bound the buffer.
func (c *responseReader) fill() error {
	if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.buf) {
		grown := make([]byte, min(max(2*len(c.buf), firstBuffer), maxHead))
		copy(grown, c.buf)
		c.buf = grown
	}
	n, err := c.in.Read(c.buf[c.w:])
	if n > 0 {
		c.lastByte = c.now()
		if c.firstByte.IsZero() {
			c.firstByte = c.lastByte
		}
		c.w += n
		c.received += int64(n)
		return nil
	}
	switch err {
	case nil:
		err = io.ErrNoProgress
	case io.EOF:
		c.lastByte = c.now() // of a response that ends so, it is the end
		err = io.ErrUnexpectedEOF
	}
	return err
}
