package gateway

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
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
	h.head.Reset()
	for pair := range slices.Chunk(fields, 2) {
		h.must(0, h.enc.WriteField(hpack.HeaderField{Name: pair[0], Value: pair[1]}))
	}
	stream = h.stream
	h.stream += 2
	h.must(0, h.fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: h.head.Bytes(), EndStream: true, EndHeaders: true}))
	return stream
}

// status reads until the head of a response has come; "" where the stream was
// reset instead.
func (h *h2Client) status(stream uint32) string {
	h.t.Helper()
	h.must(0, h.c.SetReadDeadline(time.Now().Add(time.Minute)))
	for {
		f, err := h.fr.ReadFrame()
		if err != nil {
			h.t.Fatal(err)
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				h.must(0, h.fr.WriteSettingsAck())
			}
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

// TestOneHostReachesTheUpstream: an HTTP/2 request may carry a host field beside
// its authority. Two of them that differ are refused, and of two alike one goes on.
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
