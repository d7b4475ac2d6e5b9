package upstream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
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
// not begun is sent again with its whole body, and any other is sent once and counts as reset.
func TestWhatAnUpstreamLeftOutIsSentAgain(t *testing.T) {
	first := errors.New("http2: Transport received GOAWAY from server ErrCode:ENHANCE_YOUR_CALM") // as net/http says it
	fatal.Same(t, Classify(first), whittle.FailedReset, "the failure of a connection's first request")
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
			at := rawtest.Serve(t, func(c net.Conn, _ int) { l.serve(c) })
			u, err := New(whittle.Upstream{URL: at}, true, nil)
			fatal.If(t, err)
			defer u.Close()
			proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				q := (&inbound.Reader{}).Read(r)
				b := inbound.NewBody(w, &q, -1, time.Minute, nil)
				defer b.Detach()
				resp, err := u.Send(r.Context(), &Request{In: &q, Body: b})
				if err != nil {
					w.WriteHeader(http.StatusBadGateway)
					_, _ = io.WriteString(w, string(Classify(err))+" "+err.Error())
					return
				}
				defer resp.Close()
				w.WriteHeader(resp.Status)
			}))
			defer proxy.Close()
			for i, body := range []string{"first", tt.body} {
				// Without a length, as a call of gRPC.
				resp, err := http.Post(proxy.URL, "", struct{ io.Reader }{strings.NewReader(body)})
				fatal.If(t, err)
				said, _ := io.ReadAll(resp.Body)
				resp.Body.Close()
				if passed := resp.StatusCode == http.StatusNoContent; passed != (i == 0 || tt.again) {
					t.Errorf("request %d: %d %s", i, resp.StatusCode, said)
				} else if !passed && !strings.HasPrefix(string(said), "reset ") {
					t.Errorf("the failure is said to be %s", said)
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
