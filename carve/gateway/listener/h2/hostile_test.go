package h2

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"whittle/internal/fatal"
)

// TestMalformedRequests: what RFC 9113 calls malformed ends its stream, and the connection
// serves the next request.
func TestMalformedRequests(t *testing.T) {
	_, addr := serving(t, limits(http.HandlerFunc(ways)))
	with := func(fields ...string) []string { return pseudo(http.MethodGet, "/short", fields...) }
	h := dialled(t, addr)
	begins := func(name, want string, fields []string) {
		t.Helper()
		s := h.begin(true, fields...)
		if got := h.whole(s)[s]; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.60q, want %s", name, got, want)
		}
	}
	for name, fields := range map[string][]string{
		"no :method":             {":scheme", "http", ":path", "/", ":authority", "h"},
		"no :scheme":             {":method", "GET", ":path", "/", ":authority", "h"},
		"no :path":               {":method", "GET", ":scheme", "http", ":authority", "h"},
		"an empty :path":         pseudo("GET", ""),
		"an empty :method":       pseudo("", "/"),
		"a method of two words":  pseudo("GET /x", "/"),
		"a method with a line":   pseudo("GET\r\n", "/"),
		"another scheme":         {":method", "GET", ":scheme", "ftp", ":path", "/", ":authority", "h"},
		"a path without a slash": pseudo("GET", "a"),
		"a URL as path":          pseudo("GET", "http://h/a"),
		"a path with a line":     pseudo("GET", "/a\r\nx: y"),
		"* that is not OPTIONS":  pseudo("GET", "*"),
		"a path of two words":    pseudo("GET", "/a b"),
		"two of :method":         append([]string{":method", "GET"}, pseudo("GET", "/")...),
		"two of :path":           append([]string{":path", "/"}, pseudo("GET", "/")...),
		"an unknown pseudo":      append([]string{":unknown", "1"}, pseudo("GET", "/")...),
		"a response's pseudo":    append([]string{":status", "200"}, pseudo("GET", "/")...),
		"a pseudo of RFC 8441":   append([]string{":protocol", "websocket"}, pseudo("CONNECT", "/")...),
		"a pseudo behind fields": {":method", "GET", ":scheme", "http", "a", "b", ":path", "/", ":authority", "h"},
		"CONNECT with a path":    pseudo("CONNECT", "/"),
		"CONNECT to nothing":     {":method", "CONNECT"},
		"a user in :authority":   {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "u@h"},
		"a line in :authority":   {":method", "GET", ":scheme", "http", ":path", "/", ":authority", "h\r\nx: y"},
		"an upper-case name":     with("X-A", "b"),
		"an empty name":          with("", "b"),
		"a name with a blank":    with("x a", "b"),
		"a name with a colon":    with("x:a", "b"),
		"a name with a line":     with("x\r\na", "b"),
		"a name of other bytes":  with("x\xe4", "b"),
		"a value with a line":    with("a", "b\nc: d"),
		"a value with CR":        with("a", "b\rc"),
		"a value with NUL":       with("a", "b\x00"),
		"blanks before a value":  with("a", " b"),
		"a tab behind a value":   with("a", "b\t"),
		"connection":             with("connection", "close"),
		"keep-alive":             with("keep-alive", "1"),
		"proxy-connection":       with("proxy-connection", "keep-alive"),
		"transfer-encoding":      with("transfer-encoding", "chunked"),
		"upgrade":                with("upgrade", "h2c"),
		"te of codings":          with("te", "gzip"),
		"te of both":             with("te", "trailers, gzip"),
		"a length without body":  with("content-length", "1"),
		"a length of letters":    with("content-length", "a"),
		"a length below 0":       with("content-length", "-1"),
		"a length with a sign":   with("content-length", "+0"),
		"two lengths":            with("content-length", "0", "content-length", "1"),
		"a list of lengths":      with("content-length", "0, 0"),
		"too long a length":      with("content-length", "99999999999999999999"),
	} {
		begins(name, "reset PROTOCOL_ERROR", fields)
		begins("the request after "+name, "head 200", with())
	}
	begins("a wrong escape", "head 400", pseudo(http.MethodGet, "/%zz"))
	begins("one length twice", "head 400", with("content-length", "0", "content-length", "0"))
	long := with()
	for range 4000 { // what is long only when it is decoded costs no more than one of the limit
		long = append(long, "a", strings.Repeat("b", 3000))
	}
	begins("a header that unfolds", "head 431", long)
	for name, fields := range map[string][]string{
		"te: trailers": with("te", "trailers"), "an empty value": with("a", ""), "cookies": with("cookie", "a", "cookie", "b"),
		"a length of nothing": with("content-length", "0"), "bytes of no script": with("a", "\xff\xfe"),
		"any token": with("!#$%&'*+-.^_`|~0", "1"), "no authority": {":method", "GET", ":scheme", "http", ":path", "/short"},
		"a host": {":method", "GET", ":scheme", "https", ":path", "/short", "host", "h"}, "odd paths": pseudo("GET", "//a/../b?c?d#e"),
		"OPTIONS *": pseudo("OPTIONS", "*"), "another method": pseudo("PROPFIND", "/short"), "CONNECT": {":method", "CONNECT", ":authority", "h:1"},
	} {
		begins(name, "head 200", fields)
	}
}

// TestConnectionErrors: what ends a connection does so with its code.
func TestConnectionErrors(t *testing.T) {
	config := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			<-r.Context().Done()
		}
		ways(w, r)
	}))
	config.Streams = 20 // whose windows are more than the connection's
	_, addr := serving(t, config)
	frame := func(kind http2.FrameType, flags http2.Flags, stream uint32, payload string) func(*client) error {
		return func(c *client) error { return c.WriteRawFrame(kind, flags, stream, []byte(payload)) }
	}
	const get = "\x82\x86\x84\x41\x01h"
	for name, tt := range map[string]struct {
		send func(*client) error
		code http2.ErrCode
	}{
		"DATA of no stream":              {frame(http2.FrameData, 0, 0, "a"), http2.ErrCodeProtocol},
		"DATA of an idle stream":         {frame(http2.FrameData, 0, 9, "a"), http2.ErrCodeProtocol},
		"DATA of a server's stream":      {frame(http2.FrameData, 0, 2, "a"), http2.ErrCodeProtocol},
		"padding longer than DATA":       {frame(http2.FrameData, http2.FlagDataPadded, 1, "\x05abc"), http2.ErrCodeProtocol},
		"padding of nothing":             {frame(http2.FrameData, http2.FlagDataPadded, 1, ""), http2.ErrCodeFrameSize},
		"HEADERS of no stream":           {frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 0, get), http2.ErrCodeProtocol},
		"HEADERS of a server's stream":   {frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 2, get), http2.ErrCodeProtocol},
		"HEADERS without their priority": {frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersPriority, 1, "abc"), http2.ErrCodeFrameSize},
		"padding longer than HEADERS":    {frame(http2.FrameHeaders, http2.FlagHeadersPadded, 1, "\x05abc"), http2.ErrCodeProtocol},
		"a field that is not there":      {frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\xff\xff\x00"), http2.ErrCodeCompression},
		"half a field":                   {frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, get+"\x40\x05a"), http2.ErrCodeCompression},
		"too large a table":              {frame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, 1, "\x3f\xff\xff\x7f"+get), http2.ErrCodeCompression},
		"PRIORITY of no stream":          {frame(http2.FramePriority, 0, 0, "\x00\x00\x00\x01\x00"), http2.ErrCodeProtocol},
		"RST_STREAM of no stream":        {frame(http2.FrameRSTStream, 0, 0, "\x00\x00\x00\x08"), http2.ErrCodeProtocol},
		"RST_STREAM of an idle stream":   {frame(http2.FrameRSTStream, 0, 7, "\x00\x00\x00\x08"), http2.ErrCodeProtocol},
		"a short RST_STREAM":             {frame(http2.FrameRSTStream, 0, 1, "\x00"), http2.ErrCodeFrameSize},
		"SETTINGS of a stream":           {frame(http2.FrameSettings, 0, 1, ""), http2.ErrCodeProtocol},
		"short SETTINGS":                 {frame(http2.FrameSettings, 0, 0, "abc"), http2.ErrCodeFrameSize},
		"SETTINGS and their ACK":         {frame(http2.FrameSettings, http2.FlagSettingsAck, 0, "\x00\x02\x00\x00\x00\x00"), http2.ErrCodeFrameSize},
		"half a push":                    {frame(http2.FrameSettings, 0, 0, "\x00\x02\x00\x00\x00\x02"), http2.ErrCodeProtocol},
		"too large a window":             {frame(http2.FrameSettings, 0, 0, "\x00\x04\x80\x00\x00\x00"), http2.ErrCodeFlowControl},
		"too short frames":               {frame(http2.FrameSettings, 0, 0, "\x00\x05\x00\x00\x3f\xff"), http2.ErrCodeProtocol},
		"too long frames":                {frame(http2.FrameSettings, 0, 0, "\x00\x05\x01\x00\x00\x00"), http2.ErrCodeProtocol},
		"PUSH_PROMISE":                   {frame(http2.FramePushPromise, http2.FlagPushPromiseEndHeaders, 1, "\x00\x00\x00\x02"+get), http2.ErrCodeProtocol},
		"PING of a stream":               {frame(http2.FramePing, 0, 1, "12345678"), http2.ErrCodeProtocol},
		"a short PING":                   {frame(http2.FramePing, 0, 0, "1234567"), http2.ErrCodeFrameSize},
		"GOAWAY of a stream":             {frame(http2.FrameGoAway, 0, 1, "12345678"), http2.ErrCodeProtocol},
		"a short GOAWAY":                 {frame(http2.FrameGoAway, 0, 0, "1234567"), http2.ErrCodeFrameSize},
		"WINDOW_UPDATE by nothing":       {frame(http2.FrameWindowUpdate, 0, 0, "\x00\x00\x00\x00"), http2.ErrCodeProtocol},
		"WINDOW_UPDATE beyond 2^31":      {frame(http2.FrameWindowUpdate, 0, 0, "\x7f\xff\xff\xff"), http2.ErrCodeFlowControl},
		"WINDOW_UPDATE of an idle one":   {frame(http2.FrameWindowUpdate, 0, 5, "\x00\x00\x00\x01"), http2.ErrCodeProtocol},
		"a short WINDOW_UPDATE":          {frame(http2.FrameWindowUpdate, 0, 0, "\x00"), http2.ErrCodeFrameSize},
		"CONTINUATION of nothing":        {frame(http2.FrameContinuation, http2.FlagContinuationEndHeaders, 1, get), http2.ErrCodeProtocol},
		"a PING within a header": {func(c *client) error {
			_ = c.WriteRawFrame(http2.FrameHeaders, 0, 1, []byte(get))
			return c.WritePing(false, [8]byte{})
		}, http2.ErrCodeProtocol},
		"another's CONTINUATION": {func(c *client) error {
			_ = c.WriteRawFrame(http2.FrameHeaders, 0, 1, []byte(get))
			return c.WriteContinuation(3, true, nil)
		}, http2.ErrCodeProtocol},
		"a lower stream": {func(c *client) error {
			_ = c.WriteRawFrame(http2.FrameHeaders, 5, 5, []byte(get))
			return c.WriteRawFrame(http2.FrameHeaders, 5, 3, []byte(get))
		}, http2.ErrCodeStreamClosed},
		"too long a frame": {frame(http2.FrameData, 0, 1, strings.Repeat("a", maxFrame+1)), http2.ErrCodeFrameSize},
		"more than the window": {func(c *client) error {
			for stream := uint32(1); stream <= 2*(connWindow+mostExtra)/bodyWindow; stream += 2 {
				_ = c.WriteRawFrame(http2.FrameHeaders, 4, stream, []byte(get[:2]+"\x44\x05/wait\x41\x01h"))
				for range bodyWindow / maxFrame {
					_ = c.WriteData(stream, false, make([]byte, maxFrame))
				}
			}
			_ = c.WriteRawFrame(http2.FrameHeaders, 4, 99, []byte(get[:2]+"\x44\x05/wait\x41\x01h"))
			return c.WriteData(99, false, make([]byte, maxFrame))
		}, http2.ErrCodeFlowControl},
	} {
		h := dialled(t, addr)
		_ = tt.send(h)
		if seen := h.until("goaway"); seen[len(seen)-1] != "goaway "+tt.code.String() {
			t.Errorf("%s: %q, want %v", name, seen, tt.code)
		}
		_ = h.Close()
	}
	first := silent(t, addr)
	first.must(io.WriteString(first.Conn, "GET / HTTP/1.1\r\nHost: h\r\n\r\n"))
	first.until("goaway PROTOCOL_ERROR")
	second := silent(t, addr)
	second.must(io.WriteString(second.Conn, http2.ClientPreface))
	second.must(0, second.WritePing(false, [8]byte{}))
	second.until("goaway PROTOCOL_ERROR")
}

// TestStreamErrors: what ends a stream, and leaves the connection.
func TestStreamErrors(t *testing.T) {
	_, addr := serving(t, limits(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })))
	h := dialled(t, addr)
	for name, tt := range map[string]struct {
		send func(stream uint32) error
		code http2.ErrCode
	}{
		"WINDOW_UPDATE by nothing":  {func(s uint32) error { return h.WriteRawFrame(http2.FrameWindowUpdate, 0, s, make([]byte, 4)) }, http2.ErrCodeProtocol},
		"WINDOW_UPDATE beyond 2^31": {func(s uint32) error { return h.WriteWindowUpdate(s, 1<<31-1) }, http2.ErrCodeFlowControl},
		"PRIORITY on itself":        {func(s uint32) error { return h.WritePriority(s, http2.PriorityParam{StreamDep: s}) }, http2.ErrCodeProtocol},
		"short PRIORITY":            {func(s uint32) error { return h.WriteRawFrame(http2.FramePriority, 0, s, []byte("abc")) }, http2.ErrCodeFrameSize},
		"a second header": {func(s uint32) error {
			return h.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: h.encoded("a", "b"), EndHeaders: true})
		}, http2.ErrCodeProtocol},
		"a pseudo field in a trailer": {func(s uint32) error {
			return h.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: h.encoded(":path", "/"), EndHeaders: true, EndStream: true})
		}, http2.ErrCodeProtocol},
		"DATA behind the end": {func(s uint32) error {
			_ = h.WriteData(s, true, nil)
			return h.WriteData(s, true, nil)
		}, http2.ErrCodeStreamClosed},
		"HEADERS behind the end": {func(s uint32) error {
			_ = h.WriteData(s, true, nil)
			return h.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: h.encoded("a", "b"), EndHeaders: true, EndStream: true})
		}, http2.ErrCodeStreamClosed},
	} {
		s := h.begin(false, pseudo(http.MethodPost, "/")...)
		h.must(0, tt.send(s))
		fatal.Same(t, h.whole(s)[s], "reset "+tt.code.String(), "%s", name)
	}
	var streams []uint32
	for range 11 {
		streams = append(streams, h.begin(true, pseudo(http.MethodGet, "/")...))
	}
	fatal.Same(t, h.whole(streams[10])[streams[10]], "reset REFUSED_STREAM", "a stream above the limit")
}

// discard is a test whose client may find its connection ended.
type discard struct{ testing.TB }

func (discard) Errorf(string, ...any) {}
func (discard) Fatal(...any)          {}

// TestSilence: a client that does not go on, or is not there any more, has its connection
// ended, and no other has.
func TestSilence(t *testing.T) {
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	header := func(c *Config, soon time.Duration) { c.HeaderTimeout = soon }
	idle := func(c *Config, soon time.Duration) { c.IdleTimeout = soon }
	stall := func(c *Config, soon time.Duration) { c.StallTimeout = soon }
	sends := func(text string, ends ...string) func(*client) {
		return func(h *client) {
			h.must(io.WriteString(h.Conn, text))
			h.Framer = http2.NewFramer(io.Discard, h.Conn) // it says no more
			for _, want := range ends {
				h.until(want)
			}
		}
	}
	for name, tt := range map[string]struct {
		bound func(*Config, time.Duration)
		play  func(*client)
	}{
		"nothing sent":     {header, sends("", "end")},
		"half the preface": {header, sends(preface[:10], "end")},
		"no settings":      {header, sends(preface, "end")},
		"half a header":    {header, sends(preface+settings+"\x00\x00\x05\x01\x05\x00\x00\x00\x01\x82", "goaway ENHANCE_YOUR_CALM", "end")},
		"a header without its end": {header, sends(preface+settings+"\x00\x00\x01\x01\x01\x00\x00\x00\x01\x82",
			"goaway ENHANCE_YOUR_CALM", "end")},
		"no request": {idle, sends(preface+settings, "goaway NO_ERROR", "end")},
		"no further request": {idle, func(h *client) {
			h.must(io.WriteString(h.Conn, preface+settings))
			h.begin(true, pseudo(http.MethodGet, "/nothing")...)
			h.until("1 head 200")
			sends("", "goaway NO_ERROR", "end")(h)
		}},
		"a request on its way": {idle, func(h *client) {
			h.must(io.WriteString(h.Conn, preface+settings))
			h.until("goaway NO_ERROR")
			h.begin(true, pseudo(http.MethodGet, "/nothing")...)
			h.until("1 head 200")
			h.until("end")
		}},
		"a window of nothing": {stall, func(h *client) {
			h.must(io.WriteString(h.Conn, preface))
			h.must(0, h.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0}))
			h.begin(true, pseudo(http.MethodGet, "/short")...)
			h.until("1 reset INTERNAL_ERROR")
		}},
		"no answer to a ping": {stall, func(h *client) {
			h.must(io.WriteString(h.Conn, preface+settings))
			h.begin(true, pseudo(http.MethodGet, "/wait")...)
			sends("", "end")(h)
		}},
		"answers to pings": {stall, func(h *client) {
			h.must(io.WriteString(h.Conn, preface+settings))
			h.begin(true, pseudo(http.MethodGet, "/wait")...)
			for pings := 0; pings < 3; {
				f, err := h.ReadFrame()
				h.must(0, err)
				if p, ok := f.(*http2.PingFrame); ok && !p.IsAck() {
					h.must(0, h.WritePing(true, p.Data))
					pings++
				}
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait
			for soon := 40 * time.Millisecond; ; soon *= 8 {
				c := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/wait" {
						<-r.Context().Done()
					}
					ways(w, r)
				}))
				tt.bound(&c, soon)
				_, addr := serving(t, c)
				h := silent(t, addr)
				a := &attempt{TB: t}
				h.TB = a
				if a.plays(func() { tt.play(h) }) {
					return
				}
				if soon > 2*time.Second {
					t.Fatal(a.failure)
				}
			}
		})
	}
}

// attempt is a test that may find itself too slow for the times that it has set.
type attempt struct {
	testing.TB
	failure string
}

// plays reports whether f has not failed.
func (a *attempt) plays(f func()) bool {
	defer func() {
		if p := recover(); p != nil && p != a {
			panic(p)
		}
	}()
	f()
	return a.failure == ""
}

func (a *attempt) Errorf(format string, args ...any) { a.failure = fmt.Sprintf(format, args...) }

func (a *attempt) Fatal(args ...any) {
	a.failure = fmt.Sprint(args...)
	panic(a)
}
