package har

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"whittle"
	"whittle/record/capture"
)

// Writer writes an archive, exchange by exchange.
type Writer struct {
	w     *bufio.Writer
	json  *json.Encoder
	begun bool
}

// NewWriter writes to w, which it does not close.
func NewWriter(w io.Writer) *Writer {
	b := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return &Writer{w: b, json: enc}
}

const (
	opening = `{"log":{"version":"1.2","creator":{"name":"whittle","version":"1"},"pages":[],"entries":[` + "\n"
	closing = "]}}\n"
)

// Exported reports whether an archive that begins with b was written by a Writer:
// what was redacted in a log is so in it.
func Exported(b []byte) bool { return bytes.HasPrefix(b, []byte(strings.TrimSpace(opening))) }

// ExportedLen is how many bytes of an archive Exported needs.
const ExportedLen = len(opening)

// Write adds an exchange. What was redacted stays so.
func (w *Writer) Write(e *capture.Entry) error {
	separator := ","
	if !w.begun {
		w.begun, separator = true, opening
	}
	if _, err := w.w.WriteString(separator); err != nil {
		return err
	}
	return w.json.Encode(archived(e))
}

// Close ends the archive.
func (w *Writer) Close() error {
	end := closing
	if !w.begun {
		end = opening + closing
	}
	if _, err := w.w.WriteString(end); err != nil {
		return err
	}
	return w.w.Flush()
}

// archived is the exchange in the archive's form.
func archived(e *capture.Entry) *entry {
	ms := number(float64(e.Response.Latency) / float64(time.Millisecond))
	h := &entry{
		Started: text(e.At.UTC().Format(time.RFC3339Nano)),
		Time:    ms,
		Request: request{
			Method: text(e.Request.Method), URL: text(location(&e.Request)), Version: "HTTP/1.1",
			Cookies: []pair{}, Headers: pairs(e.Request.Header, e.Request.Host), Query: query(e.Request.Target),
			HeadersSize: -1, BodySize: number(len(e.Request.Body)),
			Truncated: e.Request.Truncated,
		},
		Response: responseOf(&e.Response),
		Timings:  timings{Blocked: -1, DNS: -1, Connect: -1, Wait: ms, SSL: -1},
		Route:    text(e.Route),
		Served:   text(e.Served.String()),
	}
	if e.Conn > 0 {
		h.Connection = text(connectionName(e.Conn))
	}
	if e.Request.Truncated || e.Response.Truncated {
		h.Comment = "longer than what was recorded of it"
	}
	if len(e.Request.Body) > 0 {
		kind := e.Request.Header.Get("Content-Type")
		h.Request.Post = &posted{MimeType: text(kind)}
		h.Request.Post.Text, h.Request.Post.Encoding = readable(e.Request.Body, kind)
	}
	return h
}

func responseOf(a *whittle.Response) response {
	kind := a.Header.Get("Content-Type")
	r := response{
		Status: number(a.Status), Version: "HTTP/1.1",
		Cookies: []pair{}, Headers: pairs(a.Header, ""), RedirectURL: text(a.Header.Get("Location")),
		HeadersSize: -1, BodySize: number(len(a.Body)),
		Failure: text(a.Failure), Error: text(a.Detail), Truncated: a.Truncated,
		Trailers: pairs(a.Trailer, ""),
		Content:  content{MimeType: text(kind)},
	}
	body, ok := Unpacked(a)
	r.Content.Encoded = !ok
	r.Content.Size = number(len(body))
	r.Content.Compression = number(len(body) - len(a.Body))
	var t text
	t, r.Content.Encoding = readable(body, kind)
	r.Content.Text = &t
	return r
}

// readable gives a body as text where it is some, else as base64.
func readable(body []byte, mimeType string) (t, encoding text) {
	if utf8.Valid(body) && (!latin1(mimeType) || ascii(body)) {
		return text(body), ""
	}
	return text(base64.StdEncoding.EncodeToString(body)), "base64"
}

func ascii(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x80 })
}

// location is the request's URL. Which scheme the user's was, a log does not
// say unless a proxy in front did.
func location(q *whittle.Request) string {
	if strings.HasPrefix(q.Target, "http://") || strings.HasPrefix(q.Target, "https://") {
		return q.Target
	}
	scheme, host, slash := "http", q.Host, ""
	if q.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	if host == "" {
		host = "localhost"
	}
	if !strings.HasPrefix(q.Target, "/") {
		slash = "/"
	}
	return scheme + "://" + host + slash + q.Target
}

// pairs lists a header's fields by name, the host in front where there is one.
func pairs(h whittle.Header, host string) []pair {
	list := make([]pair, 0, len(h)+1)
	if host != "" {
		list = append(list, pair{"Host", text(host)})
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			list = append(list, pair{text(name), text(value)})
		}
	}
	return list
}

// query lists the target's parameters in their order.
func query(target string) []pair {
	list := []pair{}
	_, raw, _ := strings.Cut(target, "?")
	for part := range strings.SplitSeq(raw, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		list = append(list, pair{plain(name), plain(value)})
	}
	return list
}

// plain is a parameter without its escapes, or as it is where they are none.
func plain(s string) text {
	if p, err := url.QueryUnescape(s); err == nil {
		return text(p)
	}
	return text(s)
}
