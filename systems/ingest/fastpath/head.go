package fastpath

import (
	"bytes"
	"net/http"
	"net/textproto"
	"net/url"
	"strings"

	"whittle/internal/http1"
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

	parser  http1.RequestHead
	partial bool // the parser has seen a part of the present head
}

// endOf finds the end of the head at the beginning of b. n is 0 where the head
// is not complete yet. odd reports that the head is not for the fast path, so
// that there is no need to wait for the rest.
func (h *head) endOf(b []byte) (n int, odd bool) {
	if len(h.raw) > 0 && bytes.HasPrefix(b, h.raw) {
		if h.partial {
			h.parser.Reset()
		}
		h.partial = false
		return len(h.raw), false
	}
	if !samePrefix(b, opening) {
		return 0, true
	}
	h.parser.Limits = http1.Limits{Head: bufferSize, Fields: maxFields}
	n, err := h.parser.Parse(b)
	h.partial = n == 0
	return n, err != nil
}

// samePrefix reports whether b and text are equal up to the shorter one's
// length.
func samePrefix(b []byte, text string) bool {
	n := min(len(b), len(text))
	return string(b[:n]) == text[:n]
}

// read reads the head that endOf has found. It returns false when the request is
// not for the fast path, and then keeps nothing of it.
func (h *head) read(b []byte) bool {
	if len(h.raw) > 0 && bytes.Equal(b, h.raw) {
		return true
	}
	h.raw = h.raw[:0]
	f := h.parser.Framing()
	if h.parser.HTTP10() || f.Kind != http1.Length || f.Length == 0 || f.Length > maxBody {
		return false
	}
	text := string(b)
	h.target = text[len("POST "):][:len(h.parser.Target())]
	path, query, _ := strings.Cut(h.target, "?")
	if !all(path, inPath) || !all(query, inQuery) || !h.fields(text) {
		return false
	}
	h.length = int(f.Length)
	h.url = url.URL{Path: path, RawQuery: query, ForceQuery: len(path)+1 == len(h.target)}
	h.raw = append(h.raw, b...)
	return true
}

// fields makes the header of the parsed fields, which are parts of text.
func (h *head) fields(text string) bool {
	if h.header == nil {
		h.header = make(http.Header, h.parser.Len())
	}
	clear(h.header)
	h.host = ""
	values := make([]string, h.parser.Len()) // one piece of memory for all
	for i := range values {
		name, value := h.parser.In(text, i)
		name = textproto.CanonicalMIMEHeaderKey(name)
		switch name {
		case "Host":
			h.host = value
			continue
		case "Connection":
			if !strings.EqualFold(value, "keep-alive") {
				return false
			}
		case "Upgrade", "Expect", "Trailer", "Pragma":
			return false // Pragma may make net/http add a field
		}
		if had := h.header[name]; had != nil {
			h.header[name] = append(had, value)
			continue
		}
		values[i] = value
		h.header[name] = values[i : i+1 : i+1]
	}
	return h.host != "" && all(h.host, inHost)
}

// The sets of bytes that net/http reads as they are. http1 accepts more.
const (
	inPath = 1 << iota
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
	put(inPath, alphanumeric+"/-_.~")
	put(inHost, alphanumeric+"-._:[]")
	for c := '!'; c <= '~'; c++ {
		put(inQuery, string(c))
	}
	return t
}()

func all(s string, set uint8) bool {
	for i := range len(s) {
		if sets[s[i]]&set == 0 {
			return false
		}
	}
	return true
}
