package upstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle"
	"whittle/carve/gateway/inbound"
)

// leaving is an HTTP/2 server that responds to its first request, and leaves the next
// ones out, each by one of its ways.
type leaving struct {
	ways []func(f *http2.Framer, stream uint32) (more bool)

	mu     sync.Mutex // guards the following
	bodies []string   // of the requests that it responded to
	left   int
}

func (l *leaving) serve(c net.Conn) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings()
	_ = f.WriteWindowUpdate(0, 1<<20) // what fails is seen when reading
	var body bytes.Buffer
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.HeadersFrame:
			body.Reset()
			if way := l.next(); way != nil && !way(f, frame.StreamID) {
				return
			}
		case *http2.DataFrame:
			body.Write(frame.Data())
			_ = f.WriteWindowUpdate(frame.StreamID, max(1, uint32(len(frame.Data()))))
			if frame.StreamEnded() {
				l.respond(f, frame.StreamID, body.String())
			}
		}
	}
}

// next is the way in which a request is left out; nil: it is not.
func (l *leaving) next() func(*http2.Framer, uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.bodies) == 0 || l.left == len(l.ways) {
		return nil
	}
	l.left++
	return l.ways[l.left-1]
}

func (l *leaving) respond(f *http2.Framer, stream uint32, body string) {
	l.mu.Lock()
	l.bodies = append(l.bodies, body)
	l.mu.Unlock()
	var head bytes.Buffer
	_ = hpack.NewEncoder(&head).WriteField(hpack.HeaderField{Name: ":status", Value: "204"}) // a buffer takes it
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true})
}

// TestWhatAnUpstreamLeftOutIsSentAgain: a request that an HTTP/2 upstream says it has
// not begun is sent again with its whole body, and any other is sent once.
func TestWhatAnUpstreamLeftOutIsSentAgain(t *testing.T) {
	// whole reads until the stream of a request has ended, so that all of it was sent.
	whole := func(f *http2.Framer) {
		for {
			frame, err := f.ReadFrame()
			d, ok := frame.(*http2.DataFrame)
			if err != nil || ok && d.StreamEnded() {
				return
			}
			if ok && len(d.Data()) > 0 {
				_ = f.WriteWindowUpdate(d.StreamID, uint32(len(d.Data())))
			}
		}
	}
	goAway := func(f *http2.Framer, stream uint32) bool {
		_ = f.WriteGoAway(max(stream, 2)-2, http2.ErrCodeNo, nil)
		for err := error(nil); err == nil; {
			_, err = f.ReadFrame() // the client closes
		}
		return false
	}
	goAwayLater := func(f *http2.Framer, stream uint32) bool { whole(f); return goAway(f, stream) }
	reset := func(code http2.ErrCode) func(f *http2.Framer, stream uint32) bool {
		return func(f *http2.Framer, stream uint32) bool {
			whole(f)
			_ = f.WriteRSTStream(stream, code)
			return true
		}
	}
	type ways = []func(*http2.Framer, uint32) bool
	short, long := strings.Repeat("s", 60_000), strings.Repeat("l", maxAgain+1)
	for _, tt := range []struct {
		name  string
		ways  ways
		body  string
		again bool
	}{
		{"GOAWAY before the body", ways{goAway}, "a", true},
		{"GOAWAY behind the body", ways{goAwayLater}, short, true},
		{"GOAWAY again and again", ways{goAwayLater, goAwayLater, goAwayLater}, short, true},
		{"GOAWAY once too often", ways{goAwayLater, goAwayLater, goAwayLater, goAwayLater}, short, false},
		{"GOAWAY behind a long body", ways{goAwayLater}, long, false},
		{"refused", ways{reset(http2.ErrCodeRefusedStream)}, short, true},
		{"reset by the protocol", ways{reset(http2.ErrCodeProtocol)}, short, false},
		{"reset", ways{reset(http2.ErrCodeInternal)}, short, false},
		{"closed", ways{func(f *http2.Framer, _ uint32) bool { whole(f); return false }}, short, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := &leaving{ways: tt.ways}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var serving sync.WaitGroup
			over := make(chan struct{})
			defer serving.Wait()
			defer close(over)
			defer listener.Close()
			serving.Go(func() {
				for {
					c, err := listener.Accept()
					if err != nil {
						return
					}
					serving.Go(func() { l.serve(c) })
					serving.Go(func() { <-over; _ = c.Close() }) // a dial may have been one too many
				}
			})
			u, err := New(whittle.Upstream{URL: "http://" + listener.Addr().String()}, true, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := (&inbound.Reader{}).Read(r)
				b := inbound.NewBody(w, &q, -1, time.Minute, nil)
				defer b.Detach()
				resp, err := u.Send(r.Context(), &Request{In: &q, Body: b})
				if err != nil {
					w.WriteHeader(http.StatusBadGateway)
					_, _ = io.WriteString(w, err.Error())
					return
				}
				defer resp.Close()
				w.WriteHeader(resp.Status)
			}))
			defer proxy.Close()
			for i, body := range []string{"first", tt.body} {
				// Without a length, as a call of gRPC.
				resp, err := http.Post(proxy.URL, "", struct{ io.Reader }{strings.NewReader(body)})
				if err != nil {
					t.Fatal(err)
				}
				said, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if passed := resp.StatusCode == http.StatusNoContent; passed != (i == 0 || tt.again) {
					t.Errorf("request %d: %d %s", i, resp.StatusCode, said)
				}
			}
			want := []string{"first"}
			if tt.again {
				want = append(want, tt.body)
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			if strings.Join(l.bodies, "\n") != strings.Join(want, "\n") {
				t.Errorf("it responded to %d requests, of which the last had %d bytes", len(l.bodies), len(l.bodies[len(l.bodies)-1]))
			}
		})
	}
}

// TestAConnectionThatIsNoUseAnyMore: an HTTP/2 upstream ends a connection that has just
// been chosen for a request, before the request has a stream there. It goes over another
// one, with its whole body: over one that is kept, or over a new one.
func TestAConnectionThatIsNoUseAnyMore(t *testing.T) {
	var conns sync.Map // the server's, by the client's address
	over := make(chan struct{}, 8)
	held, free := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/held" {
			close(held)
			<-free
		}
		_, _ = io.Copy(w, r.Body) // an echo that is cut short shows below
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: 1}
	server.Config.ConnState = func(c net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			conns.Store(c.RemoteAddr().String(), c)
		case http.StateClosed:
			over <- struct{}{}
		}
	}
	server.Start()
	defer server.Close()
	u, err := New(whittle.Upstream{URL: server.URL}, true, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	// send sends a request; the first connection that is chosen for it may end.
	send := func(path string, ends bool) {
		chosen := httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
			if ends {
				ends = false
				c, _ := conns.Load(i.Conn.LocalAddr().String())
				_ = c.(*net.TCPConn).CloseWrite()
				<-over // the client has seen it, and closed its side
			}
		}}
		r := httptest.NewRequest(http.MethodPost, path, struct{ io.Reader }{strings.NewReader("body")})
		q := (&inbound.Reader{}).Read(r)
		b := inbound.NewBody(httptest.NewRecorder(), &q, -1, time.Minute, nil)
		defer b.Detach()
		resp, err := u.Send(httptrace.WithClientTrace(t.Context(), &chosen), &Request{In: &q, Body: b})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return
		}
		defer resp.Close()
		var got []byte
		for err == nil {
			var p []byte
			p, err = resp.Next()
			got = append(got, p...)
		}
		if string(got) != "body" || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	send("/first", false) // which gets the server's settings
	var aside sync.WaitGroup
	aside.Go(func() { send("/held", false) })
	<-held
	send("/other", false) // over a second connection
	close(free)
	aside.Wait()
	send("/kept", true)
	send("/new", true)
}

// TestWhatWasNotWrittenIsSentAgain: over HTTP/1.1 a body goes again where the upstream
// closed the connection before a byte of the request was written to it.
func TestWhatWasNotWrittenIsSentAgain(t *testing.T) {
	failure := errors.New("http: server closed idle connection")
	for _, tt := range []struct {
		name  string
		then  func(u *upload, c *single, trace *httptrace.ClientTrace)
		again bool
	}{
		{"no connection", func(*upload, *single, *httptrace.ClientTrace) {}, false},
		{"a connection", func(_ *upload, c *single, trace *httptrace.ClientTrace) {
			trace.GotConn(httptrace.GotConnInfo{Conn: c})
		}, true},
		{"a head that was not written", func(_ *upload, c *single, trace *httptrace.ClientTrace) {
			trace.GotConn(httptrace.GotConnInfo{Conn: c})
			trace.WroteHeaders()
		}, true},
		{"a head that was", func(_ *upload, c *single, trace *httptrace.ClientTrace) {
			trace.GotConn(httptrace.GotConnInfo{Conn: c})
			_, _ = c.Write([]byte("P"))
			trace.WroteHeaders()
		}, false},
		{"a head to an unknown connection", func(_ *upload, c *single, trace *httptrace.ClientTrace) {
			trace.GotConn(httptrace.GotConnInfo{Conn: c.Conn})
			trace.WroteHeaders()
		}, false},
		{"a body that was read", func(u *upload, c *single, trace *httptrace.ClientTrace) {
			trace.GotConn(httptrace.GotConnInfo{Conn: c})
			trace.WroteHeaders()
			_, _ = u.last.Read(make([]byte, 1))
		}, false},
	} {
		r := httptest.NewRequest("POST", "/", strings.NewReader("body"))
		q := (&inbound.Reader{}).Read(r)
		u := newUpload(inbound.NewBody(httptest.NewRecorder(), &q, -1, time.Minute, nil), false)
		c := newSingle(&parts{}, false)
		_, _ = c.Write([]byte("an earlier request"))
		var trace httptrace.ClientTrace
		u.follow(&trace)
		tt.then(u, c, &trace)
		first := u.last
		if got := u.again(failure); got != tt.again {
			t.Errorf("%s: sent again %v, want %v", tt.name, got, tt.again)
		}
		if !tt.again {
			continue
		}
		if n, err := first.Read(make([]byte, 9)); n > 0 || err == nil {
			t.Errorf("%s: the attempt that failed reads %d bytes, %v", tt.name, n, err)
		}
		if got, err := io.ReadAll(u.last); string(got) != "body" || err != nil {
			t.Errorf("%s: %q, %v", tt.name, got, err)
		}
	}
}
