package upstream

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"whittle/internal/httpfield"
)

// field is one line of a header.
type field struct{ name, value string }

// span is a field in the bytes that were read.
type span struct{ name, nameEnd, value, valueEnd int }

// responseHead is the parsed head of an HTTP/1.1 response. It is used over and
// over; parse begins by emptying it.
type responseHead struct {
	minor  byte // '0' or '1', of HTTP/1.x
	status int
	// fields has what goes on to the client, in the order that it came.
	fields []field
	// announced are the names in Trailer.
	announced []string
	// length of the body by Content-Length; -1: none was given.
	length  int64
	chunked bool
	// last says that the connection cannot be used after this response.
	last bool

	spans []span // kept for its memory
}

// parse reads a whole head, from the status line to the empty line. It changes
// b in place (names to canonical form, folds to spaces). Lines may end in a
// bare LF, as net/http lets upstreams do; nothing else is forgiven, since two
// parties who read one head differently is what smuggling lives on.
func (h *responseHead) parse(b []byte) error {
	*h = responseHead{fields: h.fields[:0], spans: h.spans[:0], length: -1}
	line, rest, ok := cutLine(b)
	if !ok || !h.statusLine(line) {
		return ErrMalformed
	}
	if err := h.scan(b, len(b)-len(rest)); err != nil {
		return err
	}
	text := string(b)
	var named []string
	for _, s := range h.spans {
		f := field{name: text[s.name:s.nameEnd], value: text[s.value:s.valueEnd]}
		more, err := h.take(f)
		if err != nil {
			return err
		}
		named = append(named, more...)
	}
	h.drop(named)
	return h.framing()
}

func (h *responseHead) statusLine(line []byte) bool {
	if len(line) < len("HTTP/1.1 200") || string(line[:7]) != "HTTP/1." || line[8] != ' ' {
		return false
	}
	h.minor = line[7]
	for _, c := range line[9:12] {
		if c < '0' || c > '9' {
			return false
		}
		h.status = h.status*10 + int(c-'0')
	}
	h.last = h.minor == '0' // its keep-alive is an extension that is not worth having
	return (h.minor == '0' || h.minor == '1') && h.status >= 100 && (len(line) == 12 || line[12] == ' ') && httpfield.IsValue(line[12:])
}

// scan finds the fields in b from at on.
func (h *responseHead) scan(b []byte, at int) error {
	for {
		line, rest, ok := cutLine(b[at:])
		if !ok {
			return ErrMalformed
		}
		if len(line) == 0 {
			return nil
		}
		next := len(b) - len(rest)
		if line[0] == ' ' || line[0] == '\t' {
			if !h.fold(b, at, at+len(line)) {
				return ErrMalformed
			}
			at = next
			continue
		}
		colon := bytes.IndexByte(line, ':')
		if colon <= 0 || !httpfield.IsToken(line[:colon]) || !httpfield.IsValue(line[colon+1:]) {
			return ErrMalformed
		}
		canonical(line[:colon])
		s := span{name: at, nameEnd: at + colon, value: at + colon + 1, valueEnd: at + len(line)}
		h.spans = append(h.spans, s.trimmed(b))
		at = next
	}
}

// fold joins a continuation line to the field before it (RFC 9112, section
// 5.2: a proxy may replace a fold by spaces).
func (h *responseHead) fold(b []byte, from, to int) bool {
	if len(h.spans) == 0 || !httpfield.IsValue(b[from:to]) {
		return false
	}
	s := &h.spans[len(h.spans)-1]
	for i := s.valueEnd; i < from; i++ {
		b[i] = ' '
	}
	s.valueEnd = to
	*s = s.trimmed(b)
	return true
}

func (s span) trimmed(b []byte) span {
	for s.value < s.valueEnd && (b[s.value] == ' ' || b[s.value] == '\t') {
		s.value++
	}
	for s.valueEnd > s.value && (b[s.valueEnd-1] == ' ' || b[s.valueEnd-1] == '\t') {
		s.valueEnd--
	}
	return s
}

// take sorts a field: what concerns this connection is read here, the rest is
// kept. It returns the names that a Connection field lists.
func (h *responseHead) take(f field) (named []string, err error) {
	switch f.name {
	case "Content-Length":
		n, ok := httpfield.ParseLength(f.value)
		if !ok || h.length >= 0 && h.length != n {
			return nil, ErrMalformed
		}
		if h.length >= 0 {
			return nil, nil // the same again: once is enough
		}
		h.length = n
	case "Transfer-Encoding":
		if h.chunked || !strings.EqualFold(f.value, "chunked") {
			return nil, ErrMalformed
		}
		h.chunked = true
		return nil, nil
	case "Connection":
		values := []string{f.value}
		h.last = h.last || httpfield.HasToken(values, "close")
		return httpfield.ConnectionNames(map[string][]string{"Connection": values}), nil
	case "Trailer":
		for name := range strings.SplitSeq(f.value, ",") {
			if name = http.CanonicalHeaderKey(strings.Trim(name, " \t")); trailing(name) {
				h.announced = append(h.announced, name)
			}
		}
	default:
		if httpfield.HopByHop(f.name) {
			return nil, nil
		}
	}
	h.fields = append(h.fields, f)
	return nil, nil
}

// trailing reports whether a field may come after the body: nothing that says
// how to read the message may.
func trailing(name string) bool {
	switch name {
	case "", "Content-Length", "Host", "Content-Encoding", "Content-Type", "Content-Range":
		return false
	}
	return !httpfield.HopByHop(name) && httpfield.IsToken(name)
}

// drop removes the fields that Connection named.
func (h *responseHead) drop(named []string) {
	if named == nil {
		return
	}
	h.fields = slices.DeleteFunc(h.fields, func(f field) bool {
		return f.name != "Content-Length" && slices.Contains(named, f.name)
	})
}

// framing settles what the fields together say of the body. Both a length and
// chunks: the chunks hold (RFC 9112, section 6.3), the length goes, and the
// connection is not used again. Chunks from HTTP/1.0 are a faulty framing.
func (h *responseHead) framing() error {
	switch {
	case h.chunked && h.minor == '0':
		return ErrMalformed
	case !h.chunked || h.length < 0:
		return nil
	}
	h.length, h.last = -1, true
	h.fields = slices.DeleteFunc(h.fields, func(f field) bool { return f.name == "Content-Length" })
	return nil
}

// copyTo adds the fields to dst.
func (h *responseHead) copyTo(dst http.Header) {
	values := make([]string, len(h.fields))
	for i, f := range h.fields {
		values[i] = f.value
		if earlier, ok := dst[f.name]; ok {
			dst[f.name] = append(earlier, f.value)
		} else {
			dst[f.name] = values[i : i+1 : i+1]
		}
	}
}

// cutLine cuts after the first LF and takes the line's end off.
func cutLine(b []byte) (line, rest []byte, ok bool) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return nil, nil, false
	}
	line = b[:i]
	if i > 0 && b[i-1] == '\r' {
		line = b[:i-1]
	}
	return line, b[i+1:], true
}

// canonical brings a token into the form of net/http: Content-Type.
func canonical(name []byte) {
	upper := true
	for i, c := range name {
		switch {
		case upper && c >= 'a' && c <= 'z':
			name[i] = c - 'a' + 'A'
		case !upper && c >= 'A' && c <= 'Z':
			name[i] = c - 'A' + 'a'
		}
		upper = c == '-'
	}
}
