package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Bounds on what is read of a response. A target is not trusted to be a correct
// HTTP server.
const (
	maxHead      = 64 << 10 // status line and headers, and again for trailers
	maxChunkLine = 4 << 10  // a chunk's size with its extensions
	maxInterim   = 16       // 1xx responses before the final one
	firstBuffer  = 4 << 10
)

var errMalformed = errors.New("not an HTTP/1.1 response")

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
	// reusable says that the connection can be kept alive for another request.
	reusable bool
}

// header returns the first value of a header, trimmed. The name is in lower case.
func (a *response) header(name string) string {
	for rest := a.head; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, crlf)
		rest = after
		key, val, _ := bytes.Cut(line, []byte{':'})
		if len(key) == len(name) && strings.EqualFold(string(key), name) {
			return string(bytes.Trim(val, " \t"))
		}
	}
	return ""
}

var crlf = []byte("\r\n")

// responseReader reads the HTTP/1.1 responses of one connection through one buffer.
type responseReader struct {
	in  io.Reader
	now func() time.Time
	buf []byte
	// buf[r:w] has been read from the connection and not been consumed.
	r, w int
	// received counts all bytes read; firstByte is when the first byte of the
	// current response came.
	received  int64
	firstByte time.Time
}

// readResponse reads one response. method is the request's; keep is how many bytes
// of the body to return. An error is errMalformed or one of the connection.
func (c *responseReader) readResponse(method string, keep int, a *response) error {
	c.firstByte = time.Time{}
	kept, body := a.head[:0], a.body[:0]
	*a = response{}
	var f framing
	for range maxInterim + 1 {
		head, err := c.readHead()
		if err != nil {
			return err
		}
		line, fields, _ := bytes.Cut(head, crlf)
		var http10 bool
		if a.status, http10, err = statusLine(line); err != nil {
			return err
		}
		if f, err = readFraming(fields, http10); err != nil {
			return err
		}
		if a.status == 101 {
			return malformed("101 to a request that asked for no upgrade")
		}
		if a.status >= 200 {
			// Reading the body may overwrite the buffer, so the head is copied.
			a.head, a.body = append(kept, fields...), body
			return c.readBody(method, keep, f, a)
		}
	}
	return malformed("more than %d interim responses", maxInterim)
}

// fill reads more into the buffer. The end of the stream is io.ErrUnexpectedEOF;
// a caller that allows it checks for that.
func (c *responseReader) fill(limit int) error {
	if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	if c.w == len(c.buf) {
		if c.w >= limit {
			return malformed("more than %d bytes of header", limit)
		}
		grown := make([]byte, min(max(2*len(c.buf), firstBuffer), max(limit, firstBuffer)))
		copy(grown, c.buf)
		c.buf = grown
	}
	n, err := c.in.Read(c.buf[c.w:])
	if n > 0 {
		if c.firstByte.IsZero() {
			c.firstByte = c.now()
		}
		c.w += n
		c.received += int64(n)
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// readHead returns status line and headers without the empty line after them, each
// line with its CRLF.
func (c *responseReader) readHead() ([]byte, error) {
	seen := 0
	for {
		if i := bytes.Index(c.buf[c.r+seen:c.w], []byte("\r\n\r\n")); i >= 0 {
			head := c.buf[c.r : c.r+seen+i+2]
			c.r += seen + i + 4
			return head, nil
		}
		if c.w-c.r >= maxHead {
			return nil, malformed("more than %d bytes of header", maxHead)
		}
		// Fail at once, rather than after maxHead bytes, where this is no HTTP.
		if n := min(c.w-c.r, 5); string(c.buf[c.r:c.r+n]) != "HTTP/"[:n] {
			return nil, malformed("it begins with %q", c.buf[c.r:min(c.w, c.r+16)])
		}
		seen = max(c.w-c.r-3, 0)
		if err := c.fill(maxHead); err != nil {
			return nil, err
		}
	}
}

func statusLine(line []byte) (status int, http10 bool, err error) {
	if len(line) < 12 || string(line[:7]) != "HTTP/1." || (line[7] != '0' && line[7] != '1') || line[8] != ' ' ||
		(len(line) > 12 && line[12] != ' ') {
		return 0, false, malformed("status line %q", line[:min(len(line), 64)])
	}
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return 0, false, malformed("status %q", line[9:12])
		}
		status = status*10 + int(c-'0')
	}
	if status < 100 {
		return 0, false, malformed("status %d", status)
	}
	return status, line[7] == '0', nil
}

// framing says where a body ends (RFC 9112, section 6.3).
type framing struct {
	length  int64 // −1: not given
	chunked bool
	close   bool
}

func readFraming(fields []byte, http10 bool) (framing, error) {
	f := framing{length: -1, close: http10}
	for len(fields) > 0 {
		line, rest, _ := bytes.Cut(fields, crlf)
		fields = rest
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !isToken(line[:colon]) {
			return f, malformed("header line %q", line[:min(len(line), 64)])
		}
		name, val := line[:colon], trimmed(line[colon+1:])
		if bytes.IndexByte(val, '\r') >= 0 || bytes.IndexByte(val, '\n') >= 0 || bytes.IndexByte(val, 0) >= 0 {
			return f, malformed("a bare line break in the header %s", name)
		}
		if err := f.field(name, val); err != nil {
			return f, err
		}
	}
	if f.chunked && f.length >= 0 {
		return f, malformed("both content-length and transfer-encoding")
	}
	return f, nil
}

func (f *framing) field(name, val []byte) error {
	switch len(name) {
	case len("content-length"):
		if !bytes.EqualFold(name, []byte("content-length")) {
			return nil
		}
		n, ok := decimal(val)
		if !ok || (f.length >= 0 && f.length != n) {
			return malformed("content-length %q", val[:min(len(val), 64)])
		}
		f.length = n
	case len("transfer-encoding"):
		if !bytes.EqualFold(name, []byte("transfer-encoding")) {
			return nil
		}
		if f.chunked || !bytes.EqualFold(val, []byte("chunked")) {
			return malformed("transfer-encoding %q", val[:min(len(val), 64)])
		}
		f.chunked = true
	case len("connection"):
		if !bytes.EqualFold(name, []byte("connection")) {
			return nil
		}
		for option := range bytes.SplitSeq(val, []byte{','}) {
			switch option = bytes.Trim(option, " \t"); {
			case bytes.EqualFold(option, []byte("close")):
				f.close = true
			case bytes.EqualFold(option, []byte("keep-alive")):
				f.close = false
			}
		}
	}
	return nil
}

// decimal reads an unsigned number of at most 18 digits.
func decimal(b []byte) (n int64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}

// inToken says which bytes may be part of a header's name (RFC 9110, section
// 5.6.2). It is a table because it is used for every byte of every name.
var inToken = func() (ok [256]bool) {
	for c := '!'; c < 0x7f; c++ {
		ok[c] = !strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
	}
	return ok
}()

func isToken(b []byte) bool {
	for _, c := range b {
		if !inToken[c] {
			return false
		}
	}
	return true
}

// trimmed is b without the blanks and tabs around it.
func trimmed(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}
