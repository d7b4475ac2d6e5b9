package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Bounds on what is read of an answer. A target is not trusted to be an HTTP
// server, let alone a kind one.
const (
	maxHead      = 64 << 10 // status line and headers, and again for trailers
	maxChunkLine = 4 << 10  // a chunk's size with its extensions
	maxInterim   = 16       // 1xx answers before the real one
	firstBuffer  = 4 << 10
)

var errMalformed = errors.New("not an HTTP/1.1 answer")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{errMalformed}, args...)...)
}

// answer is what was read; head and body are valid until the next read.
type answer struct {
	status int
	// head is the header section, one "name: value\r\n" after the other.
	head []byte
	body []byte // kept only where asked for, at most so many bytes
	// size is the body's length, kept or not.
	size int64
	// reusable says that the connection may carry another request.
	reusable bool
}

// header gives the first value of a header named in lower case, trimmed.
func (a *answer) header(name string) string {
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

// wire reads answers from one connection through one buffer.
type wire struct {
	in  io.Reader
	now func() time.Time
	buf []byte
	// buf[r:w] has been read from the connection and not been used.
	r, w int
	// received counts all bytes read; firstByte is when the first of the
	// present answer came.
	received  int64
	firstByte time.Time
}

// read takes one answer off the connection. method is the request's; keep is
// how many bytes of the body to hand out. An error other than errMalformed is
// the connection's own.
func (c *wire) read(method string, keep int, a *answer) error {
	c.firstByte = time.Time{}
	kept, body := a.head[:0], a.body[:0]
	*a = answer{}
	var f framing
	for range maxInterim + 1 {
		head, err := c.head()
		if err != nil {
			return err
		}
		line, fields, _ := bytes.Cut(head, crlf)
		var old bool
		if a.status, old, err = statusLine(line); err != nil {
			return err
		}
		if f, err = readFraming(fields, old); err != nil {
			return err
		}
		if a.status == 101 {
			return malformed("101 to a request that asked for no upgrade")
		}
		if a.status >= 200 {
			// The body may overwrite the buffer, so a wanted head is copied.
			a.head, a.body = append(kept, fields...), body
			return c.body(method, keep, f, a)
		}
	}
	return malformed("more than %d interim answers", maxInterim)
}

// fill reads more, making room first. An end of the stream is an
// io.ErrUnexpectedEOF: wherever an end is allowed, the caller knows.
func (c *wire) fill(limit int) error {
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

// head gives status line and headers without the empty line that ends them,
// each line with its CRLF.
func (c *wire) head() ([]byte, error) {
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
		// Not worth waiting for megabytes to learn that this is no HTTP.
		if n := min(c.w-c.r, 5); string(c.buf[c.r:c.r+n]) != "HTTP/"[:n] {
			return nil, malformed("it begins with %q", c.buf[c.r:min(c.w, c.r+16)])
		}
		seen = max(c.w-c.r-3, 0)
		if err := c.fill(maxHead); err != nil {
			return nil, err
		}
	}
}

func statusLine(line []byte) (status int, old bool, err error) {
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

func readFraming(fields []byte, old bool) (framing, error) {
	f := framing{length: -1, close: old}
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

// inToken says of each byte whether it may be part of a field's name (RFC 9110,
// section 5.6.2). It is a table because each byte of every answer's names is
// looked up.
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
