package fastpath

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"
)

// maxBody is the longest body that is taken: what net/http reads and throws
// away where a handler did not want it.
const maxBody = 256 << 10

// maxFields bounds what a connection keeps of its last head: in 4 KiB there is
// room for 800 fields, and 100 bytes and more are kept for each.
const maxFields = 64

// opening is how every request on the fast path begins.
const opening = "POST /"

// head is a request's head. It is reused, because a client usually sends the
// same head each time.
type head struct {
	raw    []byte // with the empty line
	url    url.URL
	target string
	host   string
	header http.Header
	length int // of the body

	spans []fieldSpan // kept for its memory
}

// fieldSpan is a field in raw.
type fieldSpan struct{ name, nameEnd, value, valueEnd int }

// endOf finds the end of the head at the beginning of b. n is 0 where the head
// is not complete yet. odd reports that the head is not for the fast path, so
// that there is no need to wait for the rest.
func (h *head) endOf(b []byte) (n int, odd bool) {
	if len(h.raw) > 0 && bytes.HasPrefix(b, h.raw) {
		return len(h.raw), false
	}
	if !samePrefix(b, opening) {
		return 0, true
	}
	if i := bytes.Index(b, emptyLine); i >= 0 {
		return i + len(emptyLine), false
	}
	// A head whose lines end otherwise would be waited for in vain.
	for rest := b; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return 0, false
		}
		if i == 0 || rest[i-1] != '\r' {
			return 0, true
		}
		rest = rest[i+1:]
	}
}

var emptyLine = []byte("\r\n\r\n")

// samePrefix reports whether b and text are equal up to the shorter one's
// length.
func samePrefix(b []byte, text string) bool {
	n := min(len(b), len(text))
	return string(b[:n]) == text[:n]
}

// read parses a whole head, as endOf found it. It returns false when the
// request is not for the fast path, and then keeps nothing of it.
func (h *head) read(b []byte) bool {
	if len(h.raw) > 0 && bytes.Equal(b, h.raw) {
		return true
	}
	h.raw = h.raw[:0]
	at, ok := h.scan(b)
	if !ok {
		return false
	}
	text := string(b)
	h.target = text[len("POST ") : at-len(" HTTP/1.1\r\n")]
	path, query, _ := strings.Cut(h.target, "?")
	h.url = url.URL{Path: path, RawQuery: query, ForceQuery: len(path)+1 == len(h.target)}
	if !h.fields(text) {
		return false
	}
	h.raw = append(h.raw, b...)
	return true
}

// scan checks the lines, and records where the fields begin and where each one
// is. It is strict, because request smuggling relies on two parsers that read
// one head differently.
func (h *head) scan(b []byte) (at int, ok bool) {
	h.spans = h.spans[:0]
	line, ok := cutLine(b)
	if !ok || !requestLine(line) {
		return 0, false
	}
	at = len(line) + len("\r\n")
	for from := at; ; {
		line, ok = cutLine(b[from:])
		if !ok {
			return 0, false
		}
		if len(line) == 0 {
			return at, from+len("\r\n") == len(b)
		}
		colon := bytes.IndexByte(line, ':')
		if len(h.spans) == maxFields || colon <= 0 || !all(line[:colon], inToken) || !all(line[colon+1:], inValue) {
			return 0, false
		}
		s := fieldSpan{name: from, nameEnd: from + colon, value: from + colon + 1, valueEnd: from + len(line)}
		for s.value < s.valueEnd && blank(b[s.value]) {
			s.value++
		}
		for s.value < s.valueEnd && blank(b[s.valueEnd-1]) {
			s.valueEnd--
		}
		h.spans = append(h.spans, s)
		from += len(line) + len("\r\n")
	}
}

// cutLine returns what is before the first CR LF.
func cutLine(b []byte) (line []byte, ok bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 1 || b[i-1] != '\r' {
		return nil, false
	}
	return b[:i-1], true
}

// requestLine accepts a path without escapes and without a scheme.
func requestLine(line []byte) bool {
	target, ok := bytes.CutPrefix(line, []byte("POST "))
	if !ok {
		return false
	}
	if target, ok = bytes.CutSuffix(target, []byte(" HTTP/1.1")); !ok {
		return false
	}
	path, query, _ := bytes.Cut(target, []byte("?"))
	return len(path) > 0 && path[0] == '/' && all(path, inPath) && all(query, inQuery)
}

// fields makes the header of the fields that scan found in text.
func (h *head) fields(text string) bool {
	if h.header == nil {
		h.header = make(http.Header, len(h.spans))
	}
	clear(h.header)
	h.host, h.length = "", 0
	hosts := 0
	values := make([]string, len(h.spans)) // one piece of memory for all
	for i, s := range h.spans {
		name, value := textproto.CanonicalMIMEHeaderKey(text[s.name:s.nameEnd]), text[s.value:s.valueEnd]
		switch name {
		case "Host":
			hosts++
			h.host = value
			continue
		case "Content-Length":
			if h.length > 0 || !h.setLength(value) {
				return false
			}
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Transfer-Encoding", "Upgrade", "Expect", "Trailer", "Pragma":
			return false // Pragma may make net/http add a field
		}
		if had := h.header[name]; had != nil {
			h.header[name] = append(had, value)
			continue
		}
		values[i] = value
		h.header[name] = values[i : i+1 : i+1]
	}
	return hosts == 1 && h.host != "" && allText(h.host, inHost) && h.length > 0
}

// setLength reads a plain number from 1 to maxBody.
func (h *head) setLength(value string) bool {
	const digits = 6
	if value == "" || len(value) > digits || value[0] == '0' {
		return false
	}
	n := 0
	for i := range len(value) {
		if value[i] < '0' || value[i] > '9' {
			return false
		}
		n = 10*n + int(value[i]-'0')
	}
	h.length = n
	return n <= maxBody
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// The sets of bytes that a head may have in its places.
const (
	inToken = 1 << iota
	inValue
	inPath
	inQuery
	inHost
)

var sets = func() (t [256]uint8) {
	put := func(set uint8, bytes string) {
		for i := range len(bytes) {
			t[bytes[i]] |= set
		}
	}
	const alphanumeric = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	put(inToken, alphanumeric+"!#$%&'*+-.^_`|~")
	put(inPath, alphanumeric+"/-_.~")
	put(inHost, alphanumeric+"-._:[]")
	for c := '!'; c <= '~'; c++ {
		put(inQuery|inValue, string(c))
	}
	put(inValue, " \t")
	for c := 0x80; c <= 0xff; c++ {
		t[c] |= inValue
	}
	return t
}()

func all(b []byte, set uint8) bool {
	for _, c := range b {
		if sets[c]&set == 0 {
			return false
		}
	}
	return true
}

func allText(s string, set uint8) bool {
	for i := range len(s) {
		if sets[s[i]]&set == 0 {
			return false
		}
	}
	return true
}
