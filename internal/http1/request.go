package http1

import "bytes"

// TargetForm is the form of a request's target (RFC 9112, section 3.2).
type TargetForm uint8

const (
	// Origin is a path, with a query or without: /a?b.
	Origin TargetForm = iota
	// Absolute is a URI with an authority: http://host/a?b.
	Absolute
	// Authority is CONNECT's host and port.
	Authority
	// Asterisk is OPTIONS' *.
	Asterisk
)

// RequestHead is a request's head. Set Limits before the first Parse. All that it
// returns is part of the bytes that Parse was given.
type RequestHead struct {
	Limits Limits
	message
	methodEnd, targetEnd int32
	begin                int32 // 2 behind an empty line
	form                 TargetForm
	authority, host      span // name and nameEnd are not used
	upgrades             bool
	continues            bool
}

// Reset begins a new head, where Parse has returned neither a head nor an error
// for the last one.
func (h *RequestHead) Reset() {
	h.reset()
	h.methodEnd, h.targetEnd = 0, 0
	h.begin, h.authority, h.host, h.upgrades, h.continues = 0, span{}, span{}, false, false
}

// Parse reads a head at the beginning of b. It returns the head's length, or 0
// while the head is incomplete; then it is to be called again with these bytes
// and more behind them, at the same place or another. After a head or an
// error, the next call begins a new head.
//
// One empty line before the request line is ignored (RFC 9112, section 2.2), and
// counts as part of the head.
func (h *RequestHead) Parse(b []byte) (n int, err error) {
	if h.over() {
		h.Reset()
	}
	return h.result(h.parse(b))
}

// Stopped is how many bytes of b come before the line that is incomplete or was
// refused, after a Parse that returned 0 or an error. Where the fields together
// are refused, it is the empty line. So these bytes are never a whole head.
func (h *RequestHead) Stopped() int { return h.at }

func (h *RequestHead) parse(b []byte) (done bool, err *Error) {
	if !h.started {
		next, err := h.requestLine(b)
		if err != nil {
			return false, err
		}
		if next < 0 {
			return false, h.incomplete(b, &h.Limits)
		}
		h.start(next)
	}
	done, err = h.lines(b, &h.Limits, 0)
	if err != nil || !done {
		return false, err
	}
	if err = h.facts(); err != nil {
		h.at -= len("\r\n") // what is refused is the empty line, which would complete the head
		return false, err
	}
	return true, nil
}

const version = "HTTP/1.1"

// requestLine reads the first line. next is behind it, or -1 while it is
// incomplete.
func (h *RequestHead) requestLine(b []byte) (next int, err *Error) {
	if h.begin == 0 && h.methodEnd == 0 && len(b) > 0 && b[0] == '\r' {
		if next, err = lineEnd(b, 0, 0); next < 0 || err != nil {
			return next, err
		}
		h.begin, h.at, h.seen = int32(next), next, next
	}
	if h.methodEnd == 0 {
		i := h.word(b, inToken)
		if i == len(b) {
			return -1, nil
		}
		if b[i] != ' ' || i == h.at {
			return 0, errRequestLine
		}
		h.methodEnd, h.seen = int32(i), i+1
	}
	if h.targetEnd == 0 {
		i := h.word(b, inTarget)
		target := int(h.methodEnd) + 1
		if h.Limits.Target > 0 && i-target > h.Limits.Target {
			return 0, errLongTarget
		}
		if i == len(b) {
			return -1, nil
		}
		if b[i] != ' ' || i == target {
			return 0, errRequestLine
		}
		h.targetEnd, h.seen = int32(i), i+1
	}
	if next, err = h.version(b, h.seen); next < 0 || err != nil {
		return next, err
	}
	return next, h.target(b)
}

// word goes on behind h.seen as long as there are bytes of the set.
func (h *RequestHead) word(b []byte, set uint8) (end int) {
	i := h.seen
	for i < len(b) && sets[b[i]]&set != 0 {
		i++
	}
	h.seen = i
	return i
}

func (h *RequestHead) version(b []byte, at int) (next int, err *Error) {
	end := at + len(version)
	if len(b) < end {
		if controlAt(b, at) < len(b) {
			return 0, errRequestLine
		}
		return -1, nil
	}
	switch v := b[at:end]; {
	case string(v) == version:
	case string(v) == "HTTP/1.0":
		h.http10 = true
	case string(v[:5]) == "HTTP/" && v[5] >= '0' && v[5] <= '9' && v[6] == '.' && v[7] >= '0' && v[7] <= '9':
		return 0, errVersion
	default:
		return 0, errRequestLine
	}
	if end < len(b) && b[end] != '\r' && b[end] != '\n' {
		return 0, errRequestLine
	}
	return lineEnd(b, end, 0)
}

// target checks the target's form.
func (h *RequestHead) target(b []byte) *Error {
	t := b[h.methodEnd+1 : h.targetEnd]
	method := b[h.begin:h.methodEnd]
	connect := len(method) == len("CONNECT") && string(method) == "CONNECT"
	switch {
	case connect:
		h.form, h.authority = Authority, span{value: h.methodEnd + 1, valueEnd: h.targetEnd}
		colon := bytes.LastIndexByte(t, ':')
		if _, ok, _ := decimal(t[colon+1:]); colon <= 0 || !ok || !all(t, inHost) {
			return errTarget
		}
	case t[0] == '/':
		h.form = Origin
	case len(t) == 1 && t[0] == '*' && string(method) == "OPTIONS":
		h.form = Asterisk
	default:
		return h.absolute(t)
	}
	return nil
}

func (h *RequestHead) absolute(t []byte) *Error {
	scheme, rest, ok := bytes.Cut(t, []byte("://"))
	if !ok || len(scheme) == 0 || !all(scheme, inScheme) || t[0]|0x20 < 'a' || t[0]|0x20 > 'z' {
		return errTarget
	}
	if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if len(rest) == 0 || !all(rest, inHost) {
		return errTarget
	}
	at := h.methodEnd + 1 + int32(len(scheme)+len("://"))
	h.form, h.authority = Absolute, span{value: at, valueEnd: at + int32(len(rest))}
	return nil
}

// facts reads what the fields together say of the message.
func (h *RequestHead) facts() *Error {
	hosts, codings, upgradeTo := 0, false, false
	for i := range h.spans {
		s := &h.spans[i]
		if s.kind == other {
			continue
		}
		value := h.raw[s.value:s.valueEnd]
		var err *Error
		switch s.kind {
		case host:
			hosts++
			h.host = *s
		case contentLength:
			err = h.setLength(value, h.Limits.body(), false)
		case transferEncoding:
			codings = true
			err = h.setCoding(value)
		case connection:
			h.options |= optionsOf(value)
		case upgrade:
			upgradeTo = upgradeTo || len(value) > 0
		case expect:
			h.continues = h.continues || equalFold(value, "100-continue")
		}
		if err != nil {
			return err
		}
	}
	h.upgrades = upgradeTo && h.options&asksUpgrade != 0
	switch {
	case codings && h.http10:
		return errOldChunks
	case codings && h.length >= 0:
		return errBoth
	}
	return h.oneHost(hosts)
}

func (h *RequestHead) oneHost(hosts int) *Error {
	switch {
	case hosts > 1:
		return errHosts
	case hosts == 0 && !h.http10:
		return errNoHost
	case hosts == 1 && !all(h.Host(), inHost):
		return errHost
	case hosts == 1 && h.form == Absolute && !sameFold(h.Authority(), h.Host()):
		return errAuthority
	}
	return nil
}

// Method returns the method, as it came.
func (h *RequestHead) Method() []byte { return h.raw[h.begin:h.methodEnd:h.methodEnd] }

// Target returns the target, as it came. Its escapes are not checked.
func (h *RequestHead) Target() []byte {
	return h.raw[h.methodEnd+1 : h.targetEnd : h.targetEnd]
}

// Form returns the target's form.
func (h *RequestHead) Form() TargetForm { return h.form }

// Authority returns the authority of a target that has one, else nothing.
func (h *RequestHead) Authority() []byte { return h.raw[h.authority.value:h.authority.valueEnd] }

// Host returns the Host field's value. It is empty in an HTTP/1.0 request
// without one.
func (h *RequestHead) Host() []byte { return h.raw[h.host.value:h.host.valueEnd] }

// Framing says where the body ends. A request without Content-Length and chunks
// has none.
func (h *RequestHead) Framing() Framing {
	switch {
	case h.chunked:
		return Framing{Kind: Chunked}
	case h.length >= 0:
		return Framing{Kind: Length, Length: h.length}
	}
	return Framing{}
}

// Closes reports whether the client sends no further request on the connection.
func (h *RequestHead) Closes() bool { return h.closes() }

// Upgrades reports whether the client asks for another protocol: it sent a
// Connection field with the option upgrade, and an Upgrade field.
func (h *RequestHead) Upgrades() bool { return h.upgrades }

// ExpectsContinue reports whether the client waits for 100 (Continue).
func (h *RequestHead) ExpectsContinue() bool { return h.continues && !h.http10 }
