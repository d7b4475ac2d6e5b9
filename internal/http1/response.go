package http1

import "net/http"

// ResponseHead is a response's head. Set Limits and Tolerance before the first
// Parse. All that it returns is part of the bytes that Parse was given.
type ResponseHead struct {
	Limits    Limits
	Tolerance Tolerance
	message
	status    int
	reasonEnd int32
	close     bool
}

// Reset begins a new head, where Parse has returned neither a head nor an error
// for the last one.
func (h *ResponseHead) Reset() {
	h.reset()
	h.close = false
}

// Parse reads a head at the beginning of b. It returns the head's length, or 0
// while the head is incomplete; then it is to be called again with these bytes
// and more behind them, at the same place or another. After a head or an
// error, the next call begins a new head.
func (h *ResponseHead) Parse(b []byte) (n int, err error) {
	if h.over() {
		h.Reset()
	}
	return h.result(h.parse(b))
}

func (h *ResponseHead) parse(b []byte) (done bool, err *Error) {
	if !h.started {
		next, err := h.statusLine(b)
		if err != nil {
			return false, err
		}
		if next < 0 {
			return false, h.incomplete(b, &h.Limits)
		}
		h.start(next)
	}
	done, err = h.lines(b, &h.Limits, h.Tolerance)
	if err != nil || !done {
		return false, err
	}
	return true, h.facts()
}

// statusLine reads the first line. next is behind it, or -1 while it is
// incomplete. Another protocol is refused by its first byte.
func (h *ResponseHead) statusLine(b []byte) (next int, err *Error) {
	const begin, least = "HTTP/1.", len("HTTP/1.1 200")
	if n := min(len(b), len(begin)); string(b[:n]) != begin[:n] {
		if len(b) > 5 && string(b[:5]) == "HTTP/" {
			return 0, errVersion
		}
		return 0, errStatusLine
	}
	if len(b) <= least {
		if controlAt(b, 0) < len(b) {
			return 0, errStatusLine
		}
		return -1, nil
	}
	if b[7] != '0' && b[7] != '1' {
		return 0, errVersion
	}
	h.http10 = b[7] == '0'
	h.status = 0
	for _, c := range b[9:12] {
		if c < '0' || c > '9' {
			return 0, errStatusLine
		}
		h.status = h.status*10 + int(c-'0')
	}
	if b[8] != ' ' || h.status < 100 || b[12] != ' ' && b[12] != '\r' && b[12] != '\n' {
		return 0, errStatusLine
	}
	h.seen = controlAt(b, max(h.seen, least))
	h.reasonEnd = int32(h.seen)
	return lineEnd(b, h.seen, h.Tolerance)
}

// facts reads what the fields together say of the message.
func (h *ResponseHead) facts() *Error {
	for i := range h.spans {
		s := &h.spans[i]
		if s.kind == other {
			continue
		}
		value := h.raw[s.value:s.valueEnd]
		var err *Error
		switch s.kind {
		case contentLength:
			err = h.setLength(value, maxLength, true)
		case transferEncoding:
			err = h.setCoding(value)
		case connection:
			h.options |= optionsOf(value)
		}
		if err != nil {
			return err
		}
	}
	h.close = h.closes()
	switch {
	case h.chunked && h.http10:
		return errOldChunks
	case h.chunked && h.length >= 0 && h.Tolerance&LengthAndChunks == 0:
		return errBoth
	case h.chunked && h.length >= 0:
		h.length, h.close = -1, true
	}
	return nil
}

// Status returns the status, from 100 to 999.
func (h *ResponseHead) Status() int { return h.status }

// Reason returns the reason phrase, as it came; it may be empty.
func (h *ResponseHead) Reason() []byte {
	const at = len("HTTP/1.1 200 ")
	if h.reasonEnd <= int32(at) {
		return nil
	}
	return h.raw[at:h.reasonEnd:h.reasonEnd]
}

// Framing says where the body of a response to a request with the method ends
// (RFC 9112, section 6.3). What a response to HEAD, a status of 1xx, 204 and 304
// announce is not sent. What follows 101, and 2xx to CONNECT, is no body: NoBody
// and UntilClose say so, and the bytes belong to the other protocol.
func (h *ResponseHead) Framing(method string) Framing {
	switch {
	case method == http.MethodHead, h.status < 200, h.status == http.StatusNoContent, h.status == http.StatusNotModified:
		return Framing{}
	case method == http.MethodConnect && h.status < 300:
		return Framing{Kind: UntilClose}
	case h.chunked:
		return Framing{Kind: Chunked}
	case h.length >= 0:
		return Framing{Kind: Length, Length: h.length}
	}
	return Framing{Kind: UntilClose}
}

// Closes reports whether the server takes no further request on the connection,
// so far as the head says. After a body UntilClose it takes none either.
func (h *ResponseHead) Closes() bool { return h.close }
