package load

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle/internal/fatal"
	"whittle/internal/rawtest"
	"whittle/load/report"
	"whittle/load/wire"
)

// startHTTP2 serves HTTP/2 and HTTP/1.1, and counts the connections that were opened.
func startHTTP2(t *testing.T, secure bool, h http.HandlerFunc) (url string, opened *atomic.Int64) {
	t.Helper()
	opened = new(atomic.Int64)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	srv.EnableHTTP2, srv.Config.Protocols = true, new(http.Protocols)
	srv.Config.Protocols.SetHTTP1(true)
	srv.Config.Protocols.SetHTTP2(true)
	srv.Config.Protocols.SetUnencryptedHTTP2(true)
	if secure {
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv.URL, opened
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	for _, secure := range []bool{false, true} {
		for _, pool := range []int{0, 2} {
			t.Run(fmt.Sprintf("tls %v pool %d", secure, pool), func(t *testing.T) {
				var wrong atomic.Int64
				url, opened := startHTTP2(t, secure, func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					if r.ProtoMajor != 2 || r.URL.Path == "/again" && (r.Method != "PUT" || string(body) != `{"id":"x7"}` || r.Header.Get("X-Of") != "x7") {
						wrong.Add(1)
					}
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, `{"id":"x7"}`)
				})
				p := parsed(t, `
config: {phases: [{duration: 0.3, arrivalCount: 30}], tls: {rejectUnauthorized: false}, http: {timeout: 60}}
scenarios:
- flow:
  - get: {url: /first?a=1, capture: {json: $.id, as: id}, expect: {statusCode: 200, contentType: json}}
  - put: {url: /again, headers: {x-of: "{{ id }}"}, json: {id: "{{ id }}"}}`)
				r := run(t, p, Options{Target: url, Protocol: wire.HTTP2, Pool: pool})
				if r.Completed != 60 || r.Failed != 0 || wrong.Load() != 0 {
					t.Errorf("%d completed, %d failed %v, %d wrong at the server; want 60 and none", r.Completed, r.Failed, r.Errors, wrong.Load())
				}
				n, most := opened.Load(), int64(cmp.Or(pool, 30))
				if n < 1 || n > most || pool == 0 && n < most || r.Latency.Connect.Count != n {
					t.Errorf("%d connections opened, %d timed; want %d, or fewer with a pool", n, r.Latency.Connect.Count, most)
				}
				if r.Latency.FirstByte.Count != 60 || r.Sent < 60*20 || r.Received < 60*20 {
					t.Errorf("%d first bytes, %d sent, %d received", r.Latency.FirstByte.Count, r.Sent, r.Received)
				}
			})
		}
	}
}

func TestHTTP2GoesOnAfterAConnectionEnded(t *testing.T) {
	for _, pool := range []int{0, 1} {
		url, opened := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/last" {
				w.Header().Set("Connection", "close") // in HTTP/2: GOAWAY after this
			}
		})
		p := parsed(t, `
config: {phases: [{duration: 0.1, arrivalCount: 3}], http: {timeout: 60}}
scenarios: [{flow: [{get: {url: /last}}, {think: 200ms}, {get: {url: /next}}]}]`)
		r := run(t, p, Options{Target: url, Protocol: wire.HTTP2, Pool: pool})
		if r.Completed != 6 || r.Failed != 0 || opened.Load() < 2 {
			t.Errorf("pool %d: %d completed, %d failed %v, over %d connections", pool, r.Completed, r.Failed, r.Errors, opened.Load())
		}
	}
}

func TestHTTP2IsCutWithTheRun(t *testing.T) {
	t.Parallel()
	for _, pool := range []int{0, 1} {
		url, _ := startHTTP2(t, false, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithCancel(t.Context())
		p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 5}, {pause: 60}], http: {timeout: 60}}\nscenarios: [{flow: [{get: {url: /}}]}]")
		r, err := Run(ctx, p, Options{Target: url, Protocol: wire.HTTP2, Pool: pool, Grace: -1, OnProgress: func(p report.Progress) {
			if p.InFlight == 5 {
				cancel()
			}
		}})
		cancel()
		fatal.If(t, err)
		if r.Unfinished != 5 || r.Failed != 0 {
			t.Errorf("pool %d: %d unfinished, %d failed %v; want 5 and none", pool, r.Unfinished, r.Failed, r.Errors)
		}
	}
}

// frameServer is a server of HTTP/2 whose frames a test writes.
type frameServer struct {
	*http2.Framer
	net.Conn
	fields bytes.Buffer
	encode *hpack.Encoder
}

// serveFrames gives respond each request with its stream's number; false ends the connection.
func serveFrames(t *testing.T, first []http2.Setting, respond func(f *frameServer, n int, stream uint32) bool) (url string) {
	t.Helper()
	var n atomic.Int64
	return rawtest.Serve(t, func(c net.Conn, _ int) {
		if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		f := &frameServer{Framer: http2.NewFramer(c, c), Conn: c}
		f.encode = hpack.NewEncoder(&f.fields)
		if f.WriteSettings(first...) != nil {
			return
		}
		for {
			frame, err := f.ReadFrame()
			if err != nil {
				return
			}
			if h, ok := frame.(*http2.HeadersFrame); ok && !respond(f, int(n.Add(1)), h.StreamID) {
				return
			}
		}
	})
}

// block is a header section, compressed.
func (f *frameServer) block(fields ...string) []byte {
	f.fields.Reset()
	for i := 0; i < len(fields); i += 2 {
		_ = f.encode.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return bytes.Clone(f.fields.Bytes())
}

func (f *frameServer) header(stream uint32, end bool, fields ...string) {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: f.block(fields...), EndHeaders: true, EndStream: end})
}

// Whatever a server may write of HTTP/2 is read, and what it may not is said to be no
// HTTP/2; a request that it did not begin with is sent again on another connection.
func TestFramesOfServers(t *testing.T) {
	t.Parallel()
	ok := func(f *frameServer, s uint32) { f.header(s, true, ":status", "200") }
	heads := func(fields ...string) func(*frameServer, int, uint32) bool {
		return func(f *frameServer, _ int, s uint32) bool { f.header(s, true, fields...); return true }
	}
	for name, c := range map[string]struct {
		respond func(f *frameServer, n int, s uint32) bool
		want    string // the kind of the errors; empty: all requests have responses
	}{
		"a header alone": {heads(":status", "200"), ""},
		"padding and priority": {func(f *frameServer, _ int, s uint32) bool {
			_ = f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: s, BlockFragment: f.block(":status", "200", "a", "b"), EndHeaders: true, PadLength: 9, Priority: http2.PriorityParam{Weight: 3},
			})
			return f.WriteDataPadded(s, true, []byte("body"), make([]byte, 200)) == nil
		}, ""},
		"continued": {func(f *frameServer, _ int, s uint32) bool {
			b := f.block(":status", "200", "long", strings.Repeat("x", 3000))
			_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: b[:1], EndStream: true})
			_ = f.WriteContinuation(s, false, b[1:len(b)/2])
			return f.WriteContinuation(s, true, b[len(b)/2:]) == nil
		}, ""},
		"interim, trailers, an empty frame": {func(f *frameServer, _ int, s uint32) bool {
			f.header(s, false, ":status", "103", "link", "x")
			f.header(s, false, ":status", "200", "content-length", "4")
			_ = f.WriteData(s, false, nil)
			_ = f.WriteData(s, false, []byte("body"))
			f.header(s, true, "x-trailer", "1")
			return true
		}, ""},
		"other frames in between": {func(f *frameServer, _ int, s uint32) bool {
			_ = f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0}, http2.Setting{ID: 0x99, Val: 7})
			f.header(s, false, ":status", "200")
			_ = f.WritePing(false, [8]byte{1})
			_ = f.WriteWindowUpdate(0, 1<<20)
			_ = f.WriteRawFrame(0xee, 0, s, []byte("unknown"))
			_ = f.WriteData(77, true, []byte("of a stream that is over"))
			return f.WriteData(s, true, []byte("x")) == nil
		}, ""},
		"refused, and then not": {func(f *frameServer, n int, s uint32) bool {
			if s == 3 && n%2 == 0 {
				return f.WriteRSTStream(s, http2.ErrCodeRefusedStream) == nil
			}
			ok(f, s)
			return true
		}, ""},
		"goodbye": {func(f *frameServer, _ int, s uint32) bool {
			if s > 1 {
				return f.WriteGoAway(1, http2.ErrCodeNo, nil) == nil
			}
			ok(f, s)
			return true
		}, ""},
		"the end behind each response": {func(f *frameServer, _ int, s uint32) bool { ok(f, s); return false }, ""},
		"reset":                        {func(f *frameServer, _ int, s uint32) bool { return f.WriteRSTStream(s, http2.ErrCodeInternal) == nil }, report.ErrorReset},
		"cut off": {func(f *frameServer, _ int, s uint32) bool {
			f.header(s, false, ":status", "200")
			return false
		}, report.ErrorReset},
		"no status":          {heads("a", "b"), report.ErrorMalformed},
		"two statuses":       {heads(":status", "200", ":status", "200"), report.ErrorMalformed},
		"a status of words":  {heads(":status", "abc"), report.ErrorMalformed},
		"an upgrade":         {heads(":status", "101"), report.ErrorMalformed},
		"a line break":       {heads(":status", "200", "a", "b\r\nc: d"), report.ErrorMalformed},
		"too much header":    {hugeHeader, report.ErrorMalformed},
		"data first":         {func(f *frameServer, _ int, s uint32) bool { return f.WriteData(s, true, []byte("x")) == nil }, report.ErrorMalformed},
		"too little content": {heads(":status", "200", "content-length", "9"), report.ErrorMalformed},
		"a push": {func(f *frameServer, _ int, s uint32) bool {
			return f.WritePushPromise(http2.PushPromiseParam{StreamID: s, PromiseID: 2, BlockFragment: f.block(":method", "GET"), EndHeaders: true}) == nil
		}, report.ErrorMalformed},
		"wrong padding": {func(f *frameServer, _ int, s uint32) bool {
			return f.WriteRawFrame(http2.FrameHeaders, 0xd, s, []byte{200, 0x88}) == nil
		}, report.ErrorMalformed},
		"wrong compression": {func(f *frameServer, _ int, s uint32) bool {
			return f.WriteRawFrame(http2.FrameHeaders, 5, s, []byte{0xff, 0xff, 0xff, 0xff, 0xff}) == nil
		}, report.ErrorMalformed},
		"an endless interim": {func(f *frameServer, _ int, s uint32) bool {
			for range 40 {
				f.header(s, false, ":status", "103")
			}
			return true
		}, report.ErrorMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serveFrames(t, nil, c.respond)
			p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 2}], http: {timeout: 30}}\nscenarios: [{flow: [{get: {url: /}}, {get: {url: /}}, {get: {url: /}}]}]")
			r := run(t, p, Options{Target: url, Protocol: wire.HTTP2})
			switch {
			case c.want == "" && (r.Completed != 6 || r.Failed != 0):
				t.Errorf("%d completed, %v", r.Completed, r.ErrorSamples)
			case c.want != "" && (r.Errors[c.want] != 2 || len(r.Errors) != 1):
				t.Errorf("%v, %v; want %s", r.Errors, r.ErrorSamples, c.want)
			}
		})
	}
}

func hugeHeader(f *frameServer, _ int, s uint32) bool {
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: f.block(":status", "200"), EndStream: true})
	for i := range 20 {
		if f.WriteContinuation(s, i == 19, f.block("a"+strconv.Itoa(i), strings.Repeat("\x01", 5000))) != nil {
			return false
		}
	}
	return true
}

// A body waits for the room that the server gives, and one of any size comes.
func TestHTTP2BodiesOfAnySize(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string]int{}
	url, opened := startHTTP2(t, false, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		got[fmt.Sprintf("%s %d %x", r.Method, len(b), sha256.Sum256(b))]++
		mu.Unlock()
		_, _ = w.Write(bytes.Repeat([]byte("y"), 3*len(b)))
	})
	flow, want := "", map[string]int{}
	for _, n := range []int{0, 1, 16 << 10, 16<<10 + 1, 65535, 65536, 500_000} {
		body := strings.Repeat("z", n)
		flow += "\n  - post: {url: /, body: '" + body + "'}"
		want[fmt.Sprintf("POST %d %x", n, sha256.Sum256([]byte(body)))] = 2
	}
	p := parsed(t, "config: {phases: [{duration: 0.1, arrivalCount: 2}], http: {timeout: 60}}\nscenarios:\n- flow:"+flow)
	r := run(t, p, Options{Target: url, Protocol: wire.HTTP2})
	mu.Lock()
	defer mu.Unlock()
	if r.Completed != 14 || r.Failed != 0 || opened.Load() != 2 || !maps.Equal(got, want) || r.Received < 3e6 {
		t.Errorf("%d completed, %v, over %d connections, %d bytes received; the server got %v", r.Completed, r.ErrorSamples, opened.Load(), r.Received, got)
	}
}
