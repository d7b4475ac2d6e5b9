package upstream

import (
	"errors"
	"fmt"
	"net/http"

	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// field is one line of a header.
type field struct{ name, value string }

// responseHead is the parsed head of an HTTP/1.1 response. It is used over and
// over; parse begins by emptying it.
type responseHead struct {
	parser http1.ResponseHead
	status int
	// reason is the reason phrase where it is not the usual one.
	reason string
	// fields has what goes on to the client, in the order that it came.
	fields []field
	// announced are the names in Trailer.
	announced []string
	// length of the body by Content-Length; -1: none was given.
	length int64
	// last says that the connection cannot be used after this response.
	last bool
}

// tolerated is what upstreams are forgiven: what net/http forgives them, and what
// a proxy may repair (RFC 9112, sections 2.2, 5.2 and 6.3). Fields that must not
// come after the body are dropped. Old servers fill up a chunk's size with blanks.
const tolerated = http1.BareLF | http1.Folding | http1.LengthAndChunks | http1.PaddedSize | http1.FramingInTrailer

// responseLimits bound a head, and a trailer.
var responseLimits = http1.Limits{Head: maxResponseHead, Fields: maxResponseHead}

// parse reads a head at the beginning of b. n is its length, and 0 while it is
// incomplete. It changes b in place: names to canonical form, folds to spaces.
func (h *responseHead) parse(b []byte) (n int, err error) {
	h.parser.Limits, h.parser.Tolerance = responseLimits, tolerated
	n, err = h.parser.Parse(b)
	if err != nil {
		return 0, refusal(err)
	}
	if n > 0 {
		h.take()
	}
	return n, nil
}

// refusal names what http1 refuses in an upstream's response.
func refusal(err error) error {
	if e, ok := errors.AsType[*http1.Error](err); ok && e.TooLarge() && e.Status == http.StatusRequestHeaderFieldsTooLarge {
		return errHeadSize
	}
	return fmt.Errorf("%w: %w", ErrMalformed, err)
}

// take keeps what the parser has read: of the fields, those that go on.
func (h *responseHead) take() {
	p := &h.parser
	h.status, h.length = p.Status(), p.ContentLength()
	h.reason = ""
	if reason := p.Reason(); string(reason) != http.StatusText(h.status) {
		h.reason = string(reason)
	}
	h.last = p.Closes() || p.HTTP10() // HTTP/1.0's keep-alive is an extension that is not worth having
	h.fields, h.announced = h.fields[:0], nil
	for i := range p.Len() {
		canonical(p.Field(i).Name)
	}
	text := string(p.Raw())
	lengths := 0
	for i := range p.Len() {
		var f field
		f.name, f.value = p.In(text, i)
		switch {
		case f.name == "Trailer":
			h.announce(f.value)
		case f.name == "Content-Length":
			if lengths++; lengths > 1 || h.length < 0 {
				continue // once is enough, and no length where chunks hold
			}
		case f.name == "Upgrade" && h.status == http.StatusUpgradeRequired: // it says what the client may come back with
		case p.HopByHop(i):
			continue
		}
		h.fields = append(h.fields, f)
	}
}

// announce keeps the names in a Trailer field.
func (h *responseHead) announce(names string) {
	for _, name := range httpfield.Names(names) {
		if trailing(name) {
			h.announced = append(h.announced, name)
		}
	}
}

// trailing reports whether a field may come after the body: nothing that says
// how to read the message may.
func trailing(name string) bool {
	switch name {
	case "", "Content-Length", "Host", "Content-Encoding", "Content-Type", "Content-Range":
		return false
	}
	return !httpfield.HopByHop(name) && http1.IsToken(name)
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
