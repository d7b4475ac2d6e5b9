package gateway

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle/internal/fatal"
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
	fatal.If(t, err)
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
	fatal.If(h.t, err)
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
	fatal.If(h.t, err)
	if s, ok := f.(*http2.SettingsFrame); ok && !s.IsAck() {
		h.must(0, h.fr.WriteSettingsAck())
	}
	return f
}
