package h2

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what happens at once.
const patience = 20 * time.Second

// nothing is what the contexts of requests have.
type nothing struct{}

func (nothing) Value(any) any { return nil }

// limits are what tests have that ask for no other.
func limits(h http.Handler) Config {
	return Config{
		Handler: h, Logf: func(string, ...any) {},
		Limits: whittle.Limits{HeaderBytes: 4 << 10, Streams: 10, HeaderTimeout: patience, IdleTimeout: patience, StallTimeout: patience},
	}
}

// serving serves connections until the test ends.
func serving(t testing.TB, c Config) (s *Server, addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	s = New(c)
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.Start(c, nil, nothing{})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		accepting.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx)
	})
	return s, l.Addr().String()
}

// byNetHTTP serves the handler by net/http.
func byNetHTTP(t testing.TB, c Config) (addr string) {
	t.Helper()
	s := httptest.NewUnstartedServer(c.Handler)
	s.Config.DisableGeneralOptionsHandler, s.Config.MaxHeaderBytes = true, c.HeaderBytes
	s.Config.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: c.Streams}
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// client is an HTTP/2 client of frames.
type client struct {
	testing.TB
	net.Conn
	*http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	stream uint32
}

// dialled connects, and begins with settings.
func dialled(t testing.TB, addr string, settings ...http2.Setting) *client {
	t.Helper()
	c := silent(t, addr)
	c.must(io.WriteString(c.Conn, http2.ClientPreface))
	c.must(0, c.WriteSettings(settings...))
	return c
}

// silent connects and says nothing.
func silent(t testing.TB, addr string) *client {
	t.Helper()
	n, err := net.Dial("tcp", addr)
	fatal.If(t, err)
	t.Cleanup(func() { _ = n.Close() })
	c := &client{TB: t, Conn: n, Framer: http2.NewFramer(n, n), stream: 1}
	c.AllowIllegalWrites = true
	c.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.enc = hpack.NewEncoder(&c.block)
	c.must(0, n.SetDeadline(time.Now().Add(patience)))
	return c
}

func (c *client) must(_ int, err error) {
	c.Helper()
	fatal.If(c, err)
}

// encoded gives a header block of pairs of name and value.
func (c *client) encoded(fields ...string) []byte {
	c.block.Reset()
	for pair := range slices.Chunk(fields, 2) {
		_ = c.enc.WriteField(hpack.HeaderField{Name: pair[0], Value: pair[1]})
	}
	return c.block.Bytes()
}

// pseudo is what begins a request's fields.
func pseudo(method, path string, fields ...string) []string {
	return append([]string{":method", method, ":scheme", "http", ":authority", "h", ":path", path}, fields...)
}

// begin sends a request's header.
func (c *client) begin(whole bool, fields ...string) (stream uint32) {
	c.Helper()
	stream = c.stream
	c.stream += 2
	c.must(0, c.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: c.encoded(fields...), EndStream: whole, EndHeaders: true}))
	return stream
}

// event is what a client sees, in words: what it says of one stream, or of the connection.
func (c *client) event() string {
	f, err := c.ReadFrame()
	switch f := f.(type) {
	case *http2.MetaHeadersFrame:
		text := "head"
		if f.PseudoValue("status") == "" {
			text = "trailer"
		}
		for _, field := range f.Fields {
			if field.Name != "date" {
				text += " " + strings.TrimPrefix(field.Name+"="+field.Value, ":status=")
			}
		}
		return c.on(f.StreamID, text, f.StreamEnded())
	case *http2.DataFrame:
		return c.on(f.StreamID, "data "+string(f.Data()), f.StreamEnded())
	case *http2.RSTStreamFrame:
		return c.on(f.StreamID, "reset "+f.ErrCode.String(), false)
	case *http2.GoAwayFrame:
		return "goaway " + f.ErrCode.String()
	case *http2.SettingsFrame:
		if !f.IsAck() {
			_ = c.WriteSettingsAck() // where it fails, so does what is read
		}
		return ""
	case *http2.PingFrame:
		if !f.IsAck() {
			_ = c.WritePing(true, f.Data) // as above
			return ""
		}
		return "pong"
	case *http2.WindowUpdateFrame:
		return ""
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "nothing"
	}
	return "end"
}

func (c *client) on(stream uint32, text string, last bool) string {
	if last {
		text += "."
	}
	return fmt.Sprintf("%d %s", stream, text)
}

// until gives what a client sees up to something that begins with a text, with it.
func (c *client) until(text string) (seen []string) {
	c.Helper()
	for {
		e := c.event()
		if e != "" {
			seen = append(seen, e)
		}
		if strings.HasPrefix(e, text) && e != "" {
			return seen
		}
		if e == "end" || e == "nothing" {
			c.Errorf("what came is %q, without %q", seen, text)
			return seen
		}
	}
}

// whole gives what comes of streams until all have ended, the pieces of each body joined.
func (c *client) whole(streams ...uint32) map[uint32]string {
	c.Helper()
	left := len(streams)
	all := map[uint32]string{}
	for left > 0 {
		e := c.event()
		if e == "end" || e == "nothing" {
			c.Errorf("%s after %v", e, all)
			return all
		}
		var id uint32
		if _, err := fmt.Sscan(e, &id); err != nil {
			continue
		}
		_, text, _ := strings.Cut(e, " ")
		last := strings.HasSuffix(text, ".") || strings.HasPrefix(text, "reset")
		if text, ok := strings.CutPrefix(text, "data "); ok && strings.Contains(all[id], "|") {
			all[id] += text
		} else if ok {
			all[id] += "|" + text
		} else if !strings.HasPrefix(text, "reset NO_ERROR") { // behind a whole response
			all[id] += text
		} else {
			continue
		}
		if last {
			left--
		}
	}
	return all
}

// goClient is net/http's client over one connection.
func goClient(t testing.TB) *http.Client {
	t.Helper()
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &p, TLSClientConfig: &tls.Config{}, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: patience}
}
