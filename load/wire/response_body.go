package wire

import (
	"bytes"
	"errors"
	"io"
)

// readBody reads the response's body to its end, and keeps at most keep bytes of it.
func (c *responseReader) readBody(method string, keep int, f framing, a *response) error {
	a.reusable = !f.close
	switch {
	case method == "HEAD", a.status == 204, a.status == 304:
		// No body, whatever the headers announce (RFC 9110, section 6.4.1).
	case f.chunked:
		if err := c.readChunks(keep, a); err != nil {
			return err
		}
	case f.length >= 0:
		if err := c.readN(f.length, keep, a); err != nil {
			return err
		}
	default:
		a.reusable = false
		return c.readUntilClose(keep, a)
	}
	// Surplus bytes would be taken for the next response.
	if c.r < c.w {
		a.reusable = false
	}
	return nil
}

// readN reads exactly n bytes of body.
func (c *responseReader) readN(n int64, keep int, a *response) error {
	for n > 0 {
		if c.r == c.w {
			if err := c.fill(len(c.buf)); err != nil {
				return err
			}
		}
		got := int(min(n, int64(c.w-c.r)))
		c.consume(got, keep, a)
		n -= int64(got)
	}
	return nil
}

// consume consumes n buffered bytes as body.
func (c *responseReader) consume(n, keep int, a *response) {
	if room := keep - len(a.body); room > 0 {
		a.body = append(a.body, c.buf[c.r:c.r+min(n, room)]...)
	}
	a.size += int64(n)
	c.r += n
}

func (c *responseReader) readUntilClose(keep int, a *response) error {
	for {
		c.consume(c.w-c.r, keep, a)
		err := c.fill(len(c.buf))
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (c *responseReader) readChunks(keep int, a *response) error {
	for {
		line, err := c.readLine(maxChunkLine)
		if err != nil {
			return err
		}
		size, err := chunkSize(line)
		if err != nil {
			return err
		}
		if size == 0 {
			return c.skipTrailers()
		}
		if err := c.readN(size, keep, a); err != nil {
			return err
		}
		end, err := c.readLine(maxChunkLine)
		if err != nil {
			return err
		}
		if len(end) > 0 {
			return malformed("a chunk longer than its size")
		}
	}
}

// skipTrailers reads and discards the trailers.
func (c *responseReader) skipTrailers() error {
	for total := 0; total <= maxHead; {
		line, err := c.readLine(maxChunkLine)
		if err != nil {
			return err
		}
		if len(line) == 0 {
			return nil
		}
		if colon := bytes.IndexByte(line, ':'); colon <= 0 || !isToken(line[:colon]) {
			return malformed("trailer line %q", line[:min(len(line), 64)])
		}
		total += len(line) + 2
	}
	return malformed("more than %d bytes of trailers", maxHead)
}

// readLine returns the next line without its CRLF.
func (c *responseReader) readLine(limit int) ([]byte, error) {
	for seen := 0; ; {
		if i := bytes.Index(c.buf[c.r+seen:c.w], crlf); i >= 0 {
			line := c.buf[c.r : c.r+seen+i]
			c.r += seen + i + 2
			return line, nil
		}
		if c.w-c.r > limit {
			return nil, malformed("a line of more than %d bytes", limit)
		}
		seen = max(c.w-c.r-1, 0)
		if err := c.fill(maxHead); err != nil {
			return nil, err
		}
	}
}

// chunkSize reads a chunk's size; extensions after ";" are ignored.
func chunkSize(line []byte) (int64, error) {
	digits, _, _ := bytes.Cut(line, []byte{';'})
	digits = bytes.TrimRight(digits, " \t")
	if len(digits) == 0 || len(digits) > 15 {
		return 0, malformed("chunk size %q", line[:min(len(line), 32)])
	}
	var n int64
	for _, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | int64(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			n = n<<4 | int64(c|0x20-'a'+10)
		default:
			return 0, malformed("chunk size %q", line[:min(len(line), 32)])
		}
	}
	return n, nil
}
