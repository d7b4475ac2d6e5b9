package http1

import "bytes"

// message is what the heads of requests and responses have in common.
type message struct {
	Fields
	started  bool // the first line has been read
	finished bool // the head is whole, or refused
	first    int  // where the first field line begins
	http10   bool
	length   int64 // by Content-Length; -1: none
	chunked  bool
}

// over reports whether the next bytes begin another head.
func (m *message) over() bool { return m.finished || m.length == 0 && !m.started }

// start says that the first line ends at next.
func (m *message) start(next int) { m.started, m.first, m.at, m.seen = true, next, next, next }

// result is what Parse returns for what parse has.
func (m *message) result(done bool, fault *Error) (n int, err error) {
	m.finished = done || fault != nil
	switch {
	case fault != nil:
		return 0, fault
	case !done:
		return 0, nil
	}
	return m.at, nil
}

func (m *message) reset() {
	m.Fields.reset(0)
	m.started, m.finished, m.http10, m.length, m.chunked = false, false, false, -1, false
}

// Lines returns the field lines as they came, each with its line end, without the
// first line and the empty one.
func (m *message) Lines() []byte {
	end := len(m.raw) - 1
	if m.raw[end-1] == '\r' {
		end--
	}
	return m.raw[m.first:end:end]
}

// HTTP10 reports whether the message is of version 1.0 rather than 1.1.
func (m *message) HTTP10() bool { return m.http10 }

// ContentLength is the number in Content-Length; -1 where there is none. It says
// nothing of the body where chunks hold or a response has no body.
func (m *message) ContentLength() int64 { return m.length }

// closes reports whether the sender keeps the connection open no longer
// (RFC 9112, section 9.3).
func (m *message) closes() bool {
	return m.options&asksClose != 0 || m.http10 && m.options&asksKeepAlive == 0
}

// setLength takes a Content-Length field. The same number again is a fault of
// requests only.
func (m *message) setLength(value []byte, most int64, again bool) *Error {
	n, ok, fits := decimal(value)
	switch {
	case !ok:
		return errLength
	case m.length >= 0 && (!again || !fits || n != m.length):
		return errLengths
	case !fits || n > most:
		return errTooMuch
	}
	m.length = n
	return nil
}

// setCoding takes a Transfer-Encoding field.
func (m *message) setCoding(value []byte) *Error {
	switch {
	case m.chunked:
		return errCoding
	case equalFold(value, "chunked"):
		m.chunked = true
		return nil
	}
	for len(value) > 0 {
		coding, rest, _ := bytes.Cut(value, comma)
		coding = trim(coding)
		if !IsToken(coding) || equalFold(coding, "chunked") && len(rest) > 0 {
			return errCoding
		}
		value = rest
	}
	return errOtherCoding // well formed, such as gzip, chunked
}
