package gateway

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle"
)

// h2Client is an HTTP/2 client of frames, which can do what no library's does.
type h2Client struct {
	t      *testing.T
	c      net.Conn
	fr     *http2.Framer
	head   bytes.Buffer
	enc    *hpack.Encoder
	stream uint32
}

// h2To connects by prior knowledge, with so much window for each response.
func h2To(t *testing.T, url string, window uint32) *h2Client {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	h := &h2Client{t: t, c: c, fr: http2.NewFramer(c, c), stream: 1}
	h.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	h.enc = hpack.NewEncoder(&h.head)
	h.must(io.WriteString(c, http2.ClientPreface))
	h.must(0, h.fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}))
	return h
}

func (h *h2Client) must(_ int, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// asks sends a request without a body; fields are pairs of name and value.
func (h *h2Client) asks(fields ...string) (stream uint32) {
	h.t.Helper()
	return h.request(true, fields...)
}

// begins sends a request whose body is to follow.
func (h *h2Client) begins(fields ...string) (stream uint32) {
	h.t.Helper()
	return h.request(false, fields...)
}

func (h *h2Client) request(whole bool, fields ...string) (stream uint32) {
	h.t.Helper()
	h.head.Reset()
	for pair := range slices.Chunk(fields, 2) {
		h.must(0, h.enc.WriteField(hpack.HeaderField{Name: pair[0], Value: pair[1]}))
	}
	stream = h.stream
	h.stream += 2
	h.must(0, h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: h.head.Bytes(), EndStream: whole, EndHeaders: true}))
	return stream
}

// sends sends a part of a request's body.
func (h *h2Client) sends(stream uint32, p []byte, last bool) {
	h.t.Helper()
	for piece := range slices.Chunk(p, 16<<10) {
		h.must(0, h.fr.WriteData(stream, false, piece))
	}
	if last {
		h.must(0, h.fr.WriteData(stream, true, nil))
	}
}

// body reads the body of a response to its end.
func (h *h2Client) body(stream uint32) (body []byte) {
	h.t.Helper()
	for {
		switch f := h.read().(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == stream && f.StreamEnded() {
				return body
			}
		case *http2.DataFrame:
			if f.StreamID != stream {
				continue
			}
			if body = append(body, f.Data()...); f.StreamEnded() {
				return body
			}
		case *http2.RSTStreamFrame:
			h.t.Errorf("stream %d was reset: %v", f.StreamID, f.ErrCode)
			return body
		}
	}
}

// read gives the next frame, and acknowledges settings.
func (h *h2Client) read() http2.Frame {
	h.t.Helper()
	h.must(0, h.c.SetReadDeadline(time.Now().Add(time.Minute)))
	f, err := h.fr.ReadFrame()
	if err != nil {
		h.t.Fatal(err)
	}
	if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
		h.must(0, h.fr.WriteSettingsAck())
	}
	return f
}

// status reads until the head of a response has come; "" where the stream was
// reset instead.
func (h *h2Client) status(stream uint32) string {
	h.t.Helper()
	for {
		switch f := h.read().(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == stream {
				return f.PseudoValue("status")
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return ""
			}
		}
	}
}

// ending reads a response to its end: how much of its body came, and whether the
// stream was reset rather than ended.
func (h *h2Client) ending(stream uint32) (body int, reset bool) {
	h.t.Helper()
	for {
		switch f := h.read().(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == stream && f.StreamEnded() {
				return body, false
			}
		case *http2.DataFrame:
			if f.StreamID != stream {
				continue
			}
			if body += len(f.Data()); f.StreamEnded() {
				return body, false
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return body, true
			}
		}
	}
}

// TestABrokenBodyResetsTheStream: where an upstream breaks in the middle of a body,
// an HTTP/2 client sees a reset and never a clean end, whatever the framing and
// whether the body is read whole first. One that is whole ends clean.
func TestABrokenBodyResetsTheStream(t *testing.T) {
	const short, long = 1000, 1 << 20
	part := func(n int) string { return strings.Repeat("x", n) }
	head := func(fields string) string { return "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + fields + "\r\n" }
	length := func(n int) string { return "Content-Length: " + strconv.Itoa(n) + "\r\n" }
	const chunked = "Transfer-Encoding: chunked\r\n"
	for name, c := range map[string]struct {
		raw   string
		whole bool
	}{
		"short, of known length":                {head(length(short)) + part(short-1), false},
		"short, of known length, nothing of it": {head(length(short)), false},
		"long, of known length":                 {head(length(long)) + part(long/2), false},
		"chunks, in a chunk":                    {head(chunked) + "3e8\r\n" + part(10), false},
		"chunks, between two":                   {head(chunked) + "a\r\n" + part(10) + "\r\n", false},
		"chunks, before the trailer's end":      {head(chunked) + "a\r\n" + part(10) + "\r\n0\r\nX-Sum: 1\r\n", false},
		"chunks, with a wrong size":             {head(chunked) + "a\r\n" + part(10) + "\r\nzz\r\n", false},
		"short and whole":                       {head(length(short)) + part(short), true},
		"long and whole":                        {head(length(long)) + part(long), true},
		"chunks and whole":                      {head(chunked) + "a\r\n" + part(10) + "\r\n0\r\n\r\n", true},
	} {
		for _, route := range []string{"mirrored", "only passed on"} {
			t.Run(name+"/"+route, func(t *testing.T) {
				t.Parallel()
				o := Options{Monolith: upstreamAt(rawServer(t, replies(c.raw, false)))}
				if route == "mirrored" {
					spec := everything()
					candidate := upstreamAt(rawServer(t, replies(c.raw, false)))
					spec.Candidate = &candidate
					o.Routes = []whittle.Route{spec}
				}
				ls, urls := facing(t, 1)
				g := behind(t, ls[0], o)
				if o.Routes != nil {
					g.Apply("/work", whittle.Position{Generation: 1, Phase: whittle.PhaseShadow})
				}
				h := h2To(t, urls[0], 4*long)
				h.must(0, h.fr.WriteWindowUpdate(0, 4*long))
				stream := h.asks(":method", "GET", ":scheme", "http", ":path", "/work", ":authority", "a.example", "x-user", "u")
				body, reset := h.ending(stream)
				if reset == c.whole {
					t.Errorf("%d bytes of the body came, and the stream was reset: %v", body, reset)
				}
			})
		}
	}
}

// TestOneHostReachesTheUpstream: an HTTP/2 request may carry a host field as well as
// its authority. Two of them that differ are refused, and of two alike one goes on. One
// with neither is refused, as by nginx.
func TestOneHostReachesTheUpstream(t *testing.T) {
	heads := make(chan string, 1)
	monolith := rawServer(t, func(c net.Conn) {
		var head []byte
		for b := make([]byte, 1); !bytes.HasSuffix(head, []byte("\r\n\r\n")); head = append(head, b...) {
			if _, err := io.ReadFull(c, b); err != nil {
				return
			}
		}
		heads <- string(head)
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	})
	ls, urls := facing(t, 1)
	behind(t, ls[0], Options{Monolith: quick(monolith)})
	for _, tt := range []struct {
		name   string
		fields []string
		status string
	}{
		{"authority alone", []string{":authority", "a.example"}, "204"},
		{"the same twice", []string{":authority", "a.example", "host", "A.example"}, "204"},
		{"host alone", []string{"host", "a.example"}, "204"},
		{"another host", []string{":authority", "a.example", "host", "b.example"}, "400"},
		{"no host", nil, "400"},
		{"two hosts", []string{"host", "a.example", "host", "a.example"}, "400"},
	} {
		h := h2To(t, urls[0], 1<<16)
		pseudo := []string{":method", http.MethodGet, ":scheme", "http", ":path", "/a"}
		if got := h.status(h.asks(append(pseudo, tt.fields...)...)); got != tt.status {
			t.Errorf("%s: status %q, want %s", tt.name, got, tt.status)
		}
		if tt.status != "204" {
			continue
		}
		head := strings.ToLower(<-heads)
		if n := strings.Count(head, "\r\nhost: "); n != 1 || !strings.Contains(head, "\r\nhost: a.example\r\n") {
			t.Errorf("%s: %d Host lines in %q", tt.name, n, head)
		}
	}
	select {
	case head := <-heads:
		t.Errorf("a refused request went on: %q", head)
	default:
	}
}

// TestNoWindowHoldsNoUpstream: an HTTP/2 client that takes nothing of a response
// holds no connection of the monolith: none at all where the response is whole,
// and otherwise for as long as a stall may last.
func TestNoWindowHoldsNoUpstream(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stall time.Duration
		size  int // of the response that the client takes nothing of
		share whittle.Share
	}{
		{"mirrored, whole", time.Hour, 1 << 10, 0},
		{"mirrored, whole, longer than what HTTP/2 buffers", time.Hour, 6 << 10, 0},
		{"mirrored, long", 50 * time.Millisecond, 1 << 20, 0},
		{"by the candidate, long", 50 * time.Millisecond, 1 << 20, whittle.All},
	} {
		t.Run(tt.name, func(t *testing.T) {
			says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("X-Small") != "" {
					_, _ = io.WriteString(w, "small")
					return
				}
				w.Header().Set("Content-Length", strconv.Itoa(tt.size))
				_, _ = w.Write(bytes.Repeat([]byte("x"), tt.size))
			})
			m, c := httptest.NewServer(says), httptest.NewServer(says)
			t.Cleanup(m.Close)
			t.Cleanup(c.Close)
			spec := everything()
			candidate := upstreamAt(c.URL)
			candidate.MaxConns = 1
			spec.Candidate = &candidate
			monolith := upstreamAt(m.URL)
			monolith.MaxConns = 1
			ls, urls := facing(t, 1)
			g := behind(t, ls[0], Options{
				Monolith: monolith, Routes: []whittle.Route{spec}, Limits: whittle.Limits{StallTimeout: tt.stall, Grace: time.Second},
			})
			g.Apply("/work", whittle.Position{Generation: 1, Share: tt.share, Phase: whittle.PhaseShift})
			h := h2To(t, urls[0], 0)
			for range 3 {
				h.asks(":method", "GET", ":scheme", "http", ":path", "/work", ":authority", "a.example", "x-user", "u")
			}
			for range 3 {
				if status, text := ask(t, http.MethodGet, urls[0]+"/work", "", "X-Small", "1", "X-User", "u"); status != http.StatusOK || text != "small" {
					t.Errorf("an honest user got %d %.40q", status, text)
				}
			}
		})
	}
}
