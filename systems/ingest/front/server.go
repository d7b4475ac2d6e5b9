package front

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/http1"
)

// maxHeader bounds a request's header, in bytes.
const maxHeader = 16 << 10

// Server returns an HTTP server with the front's limits of time and size, the one that
// the gateway has. Requests under way when it ends have as long as grace.
func (f *Front) Server(grace time.Duration) *listener.Server {
	l := f.limits
	return listener.New(listener.Config{Handler: f, Log: f.o.Log, Limits: whittle.Limits{
		Connections: l.Conns, HeaderBytes: maxHeader, HeaderTimeout: l.Header, IdleTimeout: l.Idle, Grace: grace,
	}.WithDefaults()})
}

// direct is a request that came whole in the connection's buffer, with memory for it in
// net/http's form: half of what a single event would leave for the collector.
type direct struct {
	raw     *listener.Raw
	head    []byte // that the request was made of; a client often sends the same one again
	request http.Request
	url     url.URL
	values  []string
	body    body

	header http.Header // the response's
	status int
}

// body is a request's, of bytes that are there.
type body struct{ rest []byte }

func (b *body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { return nil }

var directs = sync.Pool{New: func() any { return &direct{request: http.Request{Header: http.Header{}}, header: http.Header{}} }}

// ServeRaw implements listener.RawHandler: it takes a POST that is whole.
func (f *Front) ServeRaw(raw *listener.Raw) bool {
	kind, known := routes[string(raw.Path)]
	if !known || string(raw.Head.Method()) != http.MethodPost || len(raw.Body) == 0 {
		return false
	}
	d := directs.Get().(*direct)
	d.fill(raw)
	f.serve(d, &d.request, kind, requestID(d.request.Header), d)
	d.raw, d.body.rest = nil, nil
	clear(d.header)
	directs.Put(d)
	return true
}

// fill makes the request.
func (d *direct) fill(raw *listener.Raw) {
	d.raw, d.body.rest = raw, raw.Body
	r := &d.request
	r.RemoteAddr, r.ContentLength = raw.Remote(), int64(len(raw.Body))
	if bytes.Equal(d.head, raw.Head.Raw()) {
		return
	}
	d.head = append(d.head[:0], raw.Head.Raw()...)
	r.Method, r.URL, r.Body = http.MethodPost, &d.url, &d.body
	d.fillHead(raw.Head)
}

func (d *direct) fillHead(h *http1.RequestHead) {
	text := string(h.Raw())
	target := text[strings.IndexByte(text, ' ')+1:][:len(h.Target())]
	d.url = url.URL{}
	d.url.Path, d.url.RawQuery, _ = strings.Cut(target, "?")
	header := d.request.Header
	clear(header)
	if cap(d.values) < h.Len() {
		d.values = make([]string, h.Len())
	}
	for i := range h.Len() {
		name, value := h.In(text, i)
		if name = textproto.CanonicalMIMEHeaderKey(name); name == "Host" {
			continue
		}
		if had := header[name]; had != nil {
			header[name] = append(had, value)
			continue
		}
		d.values[i] = value
		header[name] = d.values[i : i+1 : i+1]
	}
}

// plainFields are what send gives a response that all was kept, where no browser's
// rules apply; the request's id and the line's end stand behind them.
const plainFields = "Content-Type: application/json\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: "

// release gives the connection's buffer back, once the body has been read.
func (d *direct) release() {
	d.body.rest = nil
	d.raw.Release()
}

// Header implements http.ResponseWriter, as the next two do.
func (d *direct) Header() http.Header { return d.header }

// WriteHeader keeps the status for Write.
func (d *direct) WriteHeader(status int) { d.status = status }

// Write sends the response. It is called once, with the whole body.
func (d *direct) Write(body []byte) (int, error) {
	b, _ := http1.AppendStatusLine(d.raw.Scratch(), d.status, http.StatusText(d.status)) // all of it is this package's making
	for _, name := range slices.Sorted(maps.Keys(d.header)) {
		switch name {
		case "Content-Length":
			continue
		case "Connection": // it says close
			d.raw.Close()
			continue
		}
		for _, v := range d.header[name] {
			b, _ = http1.AppendField(b, name, v)
		}
	}
	b = http1.AppendContentLength(b, int64(len(body)))
	d.raw.Send(append(d.raw.EndHead(b, false), body...))
	return len(body), nil
}

// respond writes a response to a request that is plain, and reports whether it did.
func (d *direct) respond(a response, id string, body []byte) bool {
	if a != (response{status: http.StatusOK}) || len(d.request.Header["Origin"]) > 0 {
		return false
	}
	b := append(d.raw.Scratch(), "HTTP/1.1 200 OK\r\n"...)
	b = http1.AppendContentLength(b, int64(len(body)))
	b = append(append(append(b, plainFields...), id...), "\r\n"...)
	d.raw.Send(append(d.raw.EndHead(b, false), body...))
	return true
}
