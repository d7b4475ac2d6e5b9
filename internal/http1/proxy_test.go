package http1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// relay is the least proxy that this package can carry: a client's connection is
// read on one goroutine, request by request, and each goes to an upstream over one
// kept connection and back. It has all that net/http would be needed for.
type relay struct {
	client, upstream end
	request          RequestHead
	response         ResponseHead
	body             Body
	method, out      []byte
}

// end is a connection with what has been read of it.
type end struct {
	io.ReadWriter
	buf  []byte
	r, w int
}

// more reads behind what has not been used.
func (e *end) more() error {
	e.w = copy(e.buf, e.buf[e.r:e.w])
	e.r = 0
	n, err := e.Read(e.buf[e.w:])
	e.w += n
	if n > 0 {
		return nil
	}
	return err
}

// head reads until parse has a whole head.
func (e *end) head(parse func([]byte) (int, error)) error {
	for {
		n, err := parse(e.buf[e.r:e.w])
		if e.r += n; n > 0 || err != nil {
			return err
		}
		if err := e.more(); err != nil {
			return err
		}
	}
}

// serve handles requests until a connection ends or one of them is refused.
func (p *relay) serve() error {
	for {
		switch err := p.one(); {
		case err == nil:
		case errors.Is(err, io.EOF):
			return nil
		default:
			if e, ok := errors.AsType[*Error](err); ok {
				out, _ := AppendStatusLine(nil, e.Status, http.StatusText(e.Status))
				_, _ = p.client.Write(EndHead(AppendContentLength(out, 0)))
			}
			return err
		}
	}
}

func (p *relay) one() error {
	if err := p.client.head(p.request.Parse); err != nil {
		return err
	}
	h := &p.request
	p.method = append(p.method[:0], h.Method()...)
	p.out, _ = AppendRequestLine(p.out[:0], h.Method(), h.Target())
	p.endToEnd(&h.Fields)
	if h.Framing().Kind == Chunked {
		p.out = AppendChunked(p.out)
	}
	if err := p.send(&p.client, &p.upstream, h.Framing()); err != nil {
		return err
	}
	if err := p.upstream.head(p.response.Parse); err != nil {
		return err
	}
	a := &p.response
	f := a.Framing(string(p.method))
	p.out, _ = AppendStatusLine(p.out[:0], a.Status(), a.Reason())
	p.endToEnd(&a.Fields)
	if f.Kind == Chunked {
		p.out = AppendChunked(p.out)
	}
	return p.send(&p.upstream, &p.client, f)
}

// endToEnd writes the fields that go on.
func (p *relay) endToEnd(f *Fields) {
	for i := range f.Len() {
		if !f.HopByHop(i) {
			field := f.Field(i)
			p.out, _ = AppendField(p.out, field.Name, field.Value)
		}
	}
}

// send writes the head in p.out, and the body behind it as it comes.
func (p *relay) send(from, to *end, f Framing) error {
	p.out = EndHead(p.out)
	p.body.Begin(f)
	for !p.body.Done() {
		content, n, err := p.body.Next(from.buf[from.r:from.w])
		if err != nil {
			return err
		}
		from.r += n
		if f.Kind == Chunked {
			p.out = AppendChunk(p.out, content)
		} else {
			p.out = append(p.out, content...)
		}
		if n > 0 || p.body.Done() {
			continue
		}
		if err := p.flush(to); err != nil {
			return err
		}
		if err := from.more(); err != nil && p.body.End() != nil {
			return io.ErrUnexpectedEOF
		}
	}
	if f.Kind == Chunked {
		p.out = AppendLastChunk(p.out)
		p.endToEnd(p.body.Trailer())
		p.out = EndHead(p.out)
	}
	return p.flush(to)
}

func (p *relay) flush(to *end) error {
	_, err := to.Write(p.out)
	p.out = p.out[:0]
	return err
}

// TestRelay proxies between net/http's client and server with nothing of net/http
// on the way: bodies by length and in chunks, trailers, HEAD and 204.
func TestRelay(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", fmt.Sprint(r.Method, r.URL.Path, r.ContentLength, r.Header["Keep-Alive"], len(body), r.Trailer.Get("X-T"), err))
		switch r.URL.Path {
		case "/none":
			w.WriteHeader(http.StatusNoContent)
		case "/chunks":
			w.Header().Set("Trailer", "X-Sum")
			for len(body) > 0 {
				n := min(len(body), 1000)
				_, _ = w.Write(body[:n])
				w.(http.Flusher).Flush()
				body = body[n:]
			}
			w.Header().Set("X-Sum", "s")
		default:
			_, _ = w.Write(body)
		}
	}))
	defer upstream.Close()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- relayOne(front, upstream.Listener.Addr().String()) }()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1, DisableCompression: true}}
	big := strings.Repeat("0123456789", 2000)
	for _, tc := range []struct{ method, path, body, saw string }{
		{"GET", "/a", "", "GET/a0[]0<nil>"},
		{"POST", "/a", big, "POST/a20000[]20000<nil>"},
		{"POST", "/chunks", big, "POST/chunks20000[]20000<nil>"},
		{"HEAD", "/a", "", "HEAD/a0[]0<nil>"},
		{"PUT", "/none", "x", "PUT/none1[]1<nil>"},
		{"PUT", "/a", "stream", "PUT/a-1[]6 t <nil>"},
		{"GET", "/last", "", "GET/last0[]0<nil>"},
	} {
		var in io.Reader = strings.NewReader(tc.body)
		if tc.body == "stream" {
			in = io.MultiReader(in)
		}
		r, err := http.NewRequest(tc.method, "http://"+front.Addr().String()+tc.path, in)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Connection", "keep-alive, Keep-Alive")
		r.Header.Set("Keep-Alive", "hop")
		if tc.body == "stream" {
			r.Trailer = http.Header{"X-T": {" t "}}
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s %s: %v", tc.method, tc.path, err)
		}
		got, err := io.ReadAll(resp.Body)
		want := tc.body
		if tc.path == "/none" || tc.method == "HEAD" {
			want = ""
		}
		saw := strings.Join(strings.Fields(resp.Header.Get("X-Saw")), "")
		if err != nil || string(got) != want || saw != strings.Join(strings.Fields(tc.saw), "") {
			t.Errorf("%s %s: %d bytes, %v, the upstream saw %q, want %q", tc.method, tc.path, len(got), err, saw, tc.saw)
		}
		if sum := resp.Trailer.Get("X-Sum"); tc.path == "/chunks" && sum != "s" {
			t.Errorf("%s: trailer %q", tc.path, sum)
		}
	}
	client.CloseIdleConnections()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// relayOne serves the first connection of a listener.
func relayOne(front net.Listener, to string) error {
	c, err := front.Accept()
	_ = front.Close()
	if err != nil {
		return err
	}
	defer c.Close()
	u, err := net.Dial("tcp", to)
	if err != nil {
		return err
	}
	defer u.Close()
	p := relay{client: end{ReadWriter: c, buf: make([]byte, 4096)}, upstream: end{ReadWriter: u, buf: make([]byte, 4096)}}
	return p.serve()
}

// TestRelayRefuses finds that a refusal's status goes to the client, and nothing
// of the request to the upstream.
func TestRelayRefuses(t *testing.T) {
	var client, upstream bytes.Buffer
	in := strings.NewReader("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n")
	p := relay{
		client:   end{ReadWriter: readWriter{in, &client}, buf: make([]byte, 4096)},
		upstream: end{ReadWriter: readWriter{&upstream, &upstream}, buf: make([]byte, 4096)},
	}
	err := p.serve()
	if statusOf(err) != 501 || client.String() != "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n" || upstream.Len() > 0 {
		t.Errorf("%v: %q, upstream got %q", err, client.String(), upstream.String())
	}
}

type readWriter struct {
	io.Reader
	io.Writer
}
