package har

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/internal/coding"
	"whittle/record/capture"
)

// missing says that an archive has a body's length and nothing of the body. Taken
// for empty it would be another request, or another response.
type missing int64

func (n missing) Error() string {
	return fmt.Sprintf("body missing: the archive gives its length, %d bytes, and no text", int64(n))
}

// apart says that a body is in another file than the archive.
type apart text

func (name apart) Error() string {
	return fmt.Sprintf("the body is in a file of its own, %q, which is not read; record with the bodies in the archive (Playwright: content: \"embed\")", cut(text(name)))
}

// lengthOf is the largest length that is given for a body; 0: none is.
func lengthOf(h whittle.Header, sizes ...number) int64 {
	length, _ := strconv.ParseInt(h.Get("Content-Length"), 10, 64) // what is none is 0
	for _, n := range sizes {
		length = max(length, int64(min(n, 1<<53)))
	}
	return max(0, length)
}

// sent fills in a request's body.
func sent(q *whittle.Request, h *request) error {
	length := lengthOf(q.Header, h.BodySize)
	p := h.Post
	if p != nil && p.File != "" && p.Text == "" {
		return apart(p.File)
	}
	if (p == nil || p.Text == "" && len(p.Params) == 0) && length > 0 {
		return missing(length)
	}
	if p == nil {
		return nil
	}
	body, err := decoded(p.Text, p.Encoding, string(p.MimeType))
	if err != nil {
		return err
	}
	if len(body) == 0 && len(p.Params) > 0 {
		if strings.HasPrefix(string(p.MimeType), "application/x-www-form-urlencoded") {
			body, length = form(p.Params), 0 // it may have been longer by its escapes
		} else {
			q.Truncated = true // the parts of an upload, not the upload
		}
	}
	// mitmproxy writes a character for each byte of a binary body.
	if p.Encoding == "" && int64(len(body)) > length && !textual(string(p.MimeType)) {
		if bytes := narrow(string(p.Text)); int64(len(bytes)) == length {
			body = bytes
		}
	}
	if int64(len(body)) < length && q.Header.Get("Content-Encoding") == "" {
		q.Truncated = true
	}
	q.Body, q.Truncated = bounded(body, q.Truncated)
	return nil
}

// textual says whether bodies of a type are text.
func textual(mimeType string) bool {
	return strings.HasPrefix(mimeType, "text/") || slices.ContainsFunc(
		[]string{"json", "xml", "javascript", "urlencoded", "graphql"},
		func(word string) bool { return strings.Contains(mimeType, word) })
}

// form writes a form's fields as they were sent, but perhaps for the choice of
// escapes.
func form(params []pair) []byte {
	var out []byte
	for i, p := range params {
		if i > 0 {
			out = append(out, '&')
		}
		out = append(out, url.QueryEscape(string(p.Name))...)
		out = append(out, '=')
		out = append(out, url.QueryEscape(string(p.Value))...)
	}
	return out
}

// emptyPacked bounds the compressed form of an empty body, in bytes: gzip makes 20 of it, zstd and brotli fewer.
const emptyPacked = 32

// received fills in a response's body. An archive has it decompressed, so what
// the header says of its coding and length is no longer true. Where the method or
// the status has no body, a length is not one of it.
func received(a *whittle.Response, h *response, bodiless bool) error {
	c := &h.Content
	a.Truncated = h.Error != "" // it began, and broke off
	length := int64(0)
	if !bodiless {
		length = lengthOf(a.Header, c.Size, h.BodySize)
		if a.Header.Get("Content-Encoding") != "" && c.Size <= 0 && length <= emptyPacked {
			length = 0
		}
	}
	delete(a.Header, "Content-Encoding")
	delete(a.Header, "Content-Length")
	delete(a.Header, "Transfer-Encoding")
	if c.Text == nil || *c.Text == "" {
		if c.File != "" {
			return apart(c.File)
		}
		if length > 0 && !a.Truncated {
			return missing(length)
		}
		return nil
	}
	body, err := decoded(*c.Text, c.Encoding, string(c.MimeType))
	if err != nil {
		return err
	}
	a.Body, a.Truncated = bounded(body, a.Truncated || short(len(body), c))
	return nil
}

// short reports whether a text is only the beginning of the content. A text may be
// of fewer bytes than it was, as UTF-16, so half of them are enough.
func short(n int, c *content) bool {
	if c.Encoding == "" {
		n *= 2
	}
	return float64(n) < float64(c.Size)
}

// bounded keeps as much of a body as the log takes; nil for none.
func bounded(body []byte, truncated bool) ([]byte, bool) {
	if len(body) > capture.MaxBody {
		return body[:capture.MaxBody], true
	}
	if len(body) == 0 {
		return nil, truncated
	}
	return body, truncated
}

// decoded gives a body's bytes.
func decoded(t, encoding text, mimeType string) ([]byte, error) {
	switch {
	case strings.EqualFold(string(encoding), "base64"):
		clean := strings.TrimRight(strings.NewReplacer("\n", "", "\r", "", " ", "").Replace(string(t)), "=")
		body, err := base64.RawStdEncoding.DecodeString(clean)
		if err != nil {
			return nil, errors.New("it is not base64, as its encoding says")
		}
		return body, nil
	case encoding != "":
		return nil, errors.New("its encoding is neither base64 nor absent")
	case latin1(mimeType):
		return narrow(string(t)), nil
	}
	return []byte(t), nil
}

// latin1 says whether text of a type was one byte a character.
func latin1(mimeType string) bool {
	_, params, _ := mime.ParseMediaType(mimeType) // what is none has no charset
	return slices.Contains([]string{"iso-8859-1", "latin1", "windows-1252"}, strings.ToLower(params["charset"]))
}

// narrow makes a byte of each character, as long as each is one.
func narrow(s string) []byte {
	out := make([]byte, 0, len(s))
	for _, c := range s {
		if c > 0xff || c == utf8.RuneError {
			return []byte(s)
		}
		out = append(out, byte(c))
	}
	return out
}

// Unpacked gives a response's body without its
// Content-Encoding; false, and the body as it is, where that cannot be taken
// away: an unknown coding, a cut body, one that would be too long.
func Unpacked(a *whittle.Response) ([]byte, bool) {
	if coding.Plain(a.Header) || len(a.Body) == 0 {
		return a.Body, true
	}
	if a.Truncated {
		return a.Body, false
	}
	body, err := coding.Decode(a.Header, a.Body, capture.MaxBody)
	if err != nil {
		return a.Body, false
	}
	return body, true
}
