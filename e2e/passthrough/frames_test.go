package passthrough

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"whittle/e2e/process"
)

// Lists of fields, names and values in turn.
var (
	getHead  = []string{":method", "GET", ":scheme", "http", ":authority", "h", ":path", "/x"}
	postHead = []string{":method", "POST", ":scheme", "http", ":authority", "h", ":path", "/x"}
)

func with(fields []string, more ...string) []string { return slices.Concat(fields, more) }

// block encodes fields without compression.
func block(fields []string) string {
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	e.SetMaxDynamicTableSizeLimit(0)
	for i := 0; i < len(fields); i += 2 {
		_ = e.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1], Sensitive: true})
	}
	return b.String()
}

// frame is a frame of HTTP/2 as it is sent, whatever is wrong with it.
func frame(kind, flags byte, stream uint32, payload string) string {
	n := len(payload)
	return string([]byte{byte(n >> 16), byte(n >> 8), byte(n), kind, flags, byte(stream >> 24), byte(stream >> 16), byte(stream >> 8), byte(stream)}) + payload
}

// The flags of a head.
const (
	endStream  = 1
	endHeaders = 4
	whole      = endStream | endHeaders
)

func head(flags byte, stream uint32, fields []string) string {
	return frame(1, flags, stream, block(fields))
}

// bytewise sends a head with a byte in each frame.
func bytewise(fields []string) string {
	b := block(fields)
	all := frame(1, endStream, 1, b[:1])
	for i := 1; i < len(b)-1; i++ {
		all += frame(9, 0, 1, b[i:i+1])
	}
	return all + frame(9, endHeaders, 1, b[len(b)-1:])
}

// TestOddFrames is what becomes of HTTP/2 that is odd: what is wrong in a request is
// answered on its stream and does not reach the upstream, what is wrong on the connection
// ends it, and what is merely odd is served. The connection goes on wherever it may.
func TestOddFrames(t *testing.T) {
	// Where the fault comes behind a head that is right. (net/http begins a request whose
	// length it cannot read.)
	late := []string{"data after end", "window update 0", "window overflow stream", "trailers pseudo", "trailers no end"}
	for _, tt := range []struct {
		name, sent, gets string
		netHTTP          string // where net/http reads HTTP/2, and the connection ends otherwise
	}{
		{"plain", head(whole, 1, getHead), "1:200.", ""},
		{"cl 5, no data", head(whole, 1, with(postHead, "content-length", "5")), "1:RST(PROTOCOL_ERROR)", ""},
		{"cl 5, 3 data", head(endHeaders, 1, with(postHead, "content-length", "5")) + frame(0, 1, 1, "abc"), "1:RST(PROTOCOL_ERROR)", ""},
		{"cl 3, 5 data", head(endHeaders, 1, with(postHead, "content-length", "3")) + frame(0, 1, 1, "abcde"), "1:RST(PROTOCOL_ERROR)", ""},
		{"cl 3 and cl 3", head(endHeaders, 1, with(postHead, "content-length", "3", "content-length", "3")) + frame(0, 1, 1, "abc"), "1:400.", ""},
		{"cl list 3,3", head(endHeaders, 1, with(postHead, "content-length", "3,3")) + frame(0, 1, 1, "abc"), "1:RST(PROTOCOL_ERROR)", ""},
		{"cl +3", head(endHeaders, 1, with(postHead, "content-length", "+3")) + frame(0, 1, 1, "abc"), "1:RST(PROTOCOL_ERROR)", ""},
		{"te chunked", head(endHeaders, 1, with(postHead, "transfer-encoding", "chunked")) + frame(0, 1, 1, "3\r\nabc\r\n0\r\n\r\n"), "1:RST(PROTOCOL_ERROR)", ""},
		{"te gzip", head(whole, 1, with(getHead, "te", "gzip")), "1:RST(PROTOCOL_ERROR)", ""},
		{"te trailers", head(whole, 1, with(getHead, "te", "trailers")), "1:200.", ""},
		{"connection", head(whole, 1, with(getHead, "connection", "close")), "1:RST(PROTOCOL_ERROR)", ""},
		{"upgrade", head(whole, 1, with(getHead, "upgrade", "websocket")), "1:RST(PROTOCOL_ERROR)", ""},
		{"keep-alive", head(whole, 1, with(getHead, "keep-alive", "1")), "1:RST(PROTOCOL_ERROR)", ""},
		{"proxy-connection", head(whole, 1, with(getHead, "proxy-connection", "x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"uppercase", head(whole, 1, with(getHead, "X-A", "b")), "1:RST(PROTOCOL_ERROR)", ""},
		{"crlf in value", head(whole, 1, with(getHead, "x-a", "b\r\nx-b: c")), "1:RST(PROTOCOL_ERROR)", ""},
		{"nul in value", head(whole, 1, with(getHead, "x-a", "b\x00")), "1:RST(PROTOCOL_ERROR)", ""},
		{"space lead value", head(whole, 1, with(getHead, "x-a", " b")), "1:RST(PROTOCOL_ERROR)", ""},
		{"colon in name", head(whole, 1, with(getHead, "x:a", "b")), "1:RST(PROTOCOL_ERROR)", ""},
		{"empty name", head(whole, 1, with(getHead, "", "b")), "1:RST(PROTOCOL_ERROR)", ""},
		{"space in path", head(whole, 1, with(getHead[:7], "/x y")), "1:RST(PROTOCOL_ERROR)", ""},
		{"crlf in path", head(whole, 1, with(getHead[:7], "/x HTTP/1.1\r\nX: y")), "1:RST(PROTOCOL_ERROR)", ""},
		{"frag in path", head(whole, 1, with(getHead[:7], "/x#y")), "1:200.", ""},
		{"path no slash", head(whole, 1, with(getHead[:7], "x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"path empty", head(whole, 1, with(getHead[:7], "")), "1:RST(PROTOCOL_ERROR)", ""},
		{"path abs", head(whole, 1, with(getHead[:7], "http://evil/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"path *", head(whole, 1, with(nil, ":method", "OPTIONS", ":scheme", "http", ":authority", "h", ":path", "*")), "1:200.", ""},
		{"no path", head(whole, 1, getHead[:6]), "1:RST(PROTOCOL_ERROR)", ""},
		{"two paths", head(whole, 1, with(getHead, ":path", "/y")), "1:RST(PROTOCOL_ERROR)", ""},
		{"pseudo after", head(whole, 1, with(nil, ":method", "GET", "x-a", "b", ":scheme", "http", ":authority", "h", ":path", "/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"unknown pseudo", head(whole, 1, with(getHead, ":foo", "b")), "1:RST(PROTOCOL_ERROR)", ""},
		{"status pseudo", head(whole, 1, with(getHead, ":status", "200")), "1:RST(PROTOCOL_ERROR)", ""},
		{"method space", head(whole, 1, with(nil, ":method", "GET /admin", ":scheme", "http", ":authority", "h", ":path", "/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"method lower", head(whole, 1, with(nil, ":method", "get", ":scheme", "http", ":authority", "h", ":path", "/x")), "1:200.", ""},
		{"scheme https", head(whole, 1, with(nil, ":method", "GET", ":scheme", "https", ":authority", "h", ":path", "/x")), "1:200.", ""},
		{"scheme ftp", head(whole, 1, with(nil, ":method", "GET", ":scheme", "ftp", ":authority", "h", ":path", "/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"authority userinfo", head(whole, 1, with(nil, ":method", "GET", ":scheme", "http", ":authority", "u:p@h", ":path", "/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"authority slash", head(whole, 1, with(nil, ":method", "GET", ":scheme", "http", ":authority", "h/x", ":path", "/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"authority + same host", head(whole, 1, with(getHead, "host", "h")), "1:200.", ""},
		{"authority + other host", head(whole, 1, with(getHead, "host", "g")), "1:400.", ""},
		{"two host", head(whole, 1, with(nil, ":method", "GET", ":scheme", "http", ":path", "/x", "host", "h", "host", "g")), "1:400.", ""},
		{"cookies split", head(whole, 1, with(getHead, "cookie", "a=b", "cookie", "c=d")), "1:200.", ""},
		{"connect", head(endHeaders, 1, with(nil, ":method", "CONNECT", ":authority", "h:443")), "1:501.", ""},
		{"ext connect", head(endHeaders, 1, with(nil, ":method", "CONNECT", ":protocol", "websocket", ":scheme", "http", ":authority", "h", ":path", "/x")), "1:RST(PROTOCOL_ERROR)", ""},
		{"trailers", head(endHeaders, 1, with(postHead, "trailer", "x-t")) + frame(0, 0, 1, "abc") + head(whole, 1, with(nil, "x-t", "v")), "1:200.", ""},
		{"trailers pseudo", head(endHeaders, 1, postHead) + frame(0, 0, 1, "abc") + head(whole, 1, with(nil, ":path", "/y")), "1:RST(PROTOCOL_ERROR)", ""},
		{"trailers no end", head(endHeaders, 1, postHead) + frame(0, 0, 1, "abc") + head(endHeaders, 1, with(nil, "x-t", "v")) + frame(0, 1, 1, "d"), "1:RST(PROTOCOL_ERROR)", ""},
		{"expect 100", head(endHeaders, 1, with(postHead, "expect", "100-continue", "content-length", "3")) + frame(0, 1, 1, "abc"), "1:100200.", ""},
		{"expect magic", head(whole, 1, with(getHead, "expect", "magic")), "1:417.", ""},
		{"data on idle", frame(0, 1, 1, "x") + head(whole, 3, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"data after end", head(whole, 1, getHead) + frame(0, 1, 1, "x") + head(whole, 3, getHead), "1:RST(STREAM_CLOSED), 3:200.", ""},
		{"padded all", head(endHeaders, 1, postHead) + frame(0, 9, 1, "\x05abc\x00\x00\x00\x00\x00"), "1:200.", ""},
		{"pad too long", head(endHeaders, 1, postHead) + frame(0, 9, 1, "\x09abc"), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"even stream", head(whole, 2, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"lower stream", head(whole, 5, getHead) + head(whole, 3, getHead), "GOAWAY(STREAM_CLOSED)", "GOAWAY(PROTOCOL_ERROR)"},
		{"window update 0", head(whole, 1, getHead) + frame(8, 0, 1, "\x00\x00\x00\x00"), "1:RST(PROTOCOL_ERROR)", ""},
		{"window update 0 conn", frame(8, 0, 0, "\x00\x00\x00\x00") + head(whole, 1, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"window overflow conn", frame(8, 0, 0, "\x7f\xff\xff\xff") + head(whole, 1, getHead), "GOAWAY(FLOW_CONTROL_ERROR)", ""},
		{"window overflow stream", head(endHeaders, 1, postHead) + frame(8, 0, 1, "\x7f\xff\xff\xff"), "1:RST(FLOW_CONTROL_ERROR)", ""},
		{"settings window 2^31", frame(4, 0, 0, "\x00\x04\x80\x00\x00\x00") + head(whole, 1, getHead), "GOAWAY(FLOW_CONTROL_ERROR)", ""},
		{"settings maxframe 1", frame(4, 0, 0, "\x00\x05\x00\x00\x00\x01") + head(whole, 1, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"settings push 2", frame(4, 0, 0, "\x00\x02\x00\x00\x00\x02") + head(whole, 1, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"settings unknown", frame(4, 0, 0, "\x00c\x00\x00\x00\x02") + head(whole, 1, getHead), "1:200.", ""},
		{"settings ack unasked x50", strings.Repeat(frame(4, 1, 0, ""), 50) + head(whole, 1, getHead), "1:200.", "GOAWAY(PROTOCOL_ERROR)"},
		{"settings len 5", frame(4, 0, 0, "12345") + head(whole, 1, getHead), "GOAWAY(FRAME_SIZE_ERROR)", ""},
		{"ping len 7", frame(6, 0, 0, "1234567") + head(whole, 1, getHead), "GOAWAY(FRAME_SIZE_ERROR)", ""},
		{"ping stream 1", frame(6, 0, 1, "12345678") + head(whole, 1, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"goaway then req", frame(7, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00") + head(whole, 1, getHead), "1:200., GOAWAY(NO_ERROR)", "GOAWAY(NO_ERROR)"},
		{"unknown frame", frame(187, 0, 0, "abc") + head(whole, 1, getHead), "1:200.", ""},
		{"priority of itself", frame(2, 0, 1, "\x00\x00\x00\x01\x05") + head(whole, 1, getHead), "1:RST(PROTOCOL_ERROR)200.", ""},
		{"priority x2000", strings.Repeat(frame(2, 0, 1, "\x00\x00\x00\x03\x05"), 2000) + head(whole, 1, getHead), "1:200.", ""},
		{"priority_update x2000", strings.Repeat(frame(16, 0, 0, "\x00\x00\x00\x01u=3"), 2000) + head(whole, 1, getHead), "1:200.", ""},
		{"altsvc/origin", frame(10, 0, 0, "\x00\x01hx") + frame(12, 0, 0, "x") + head(whole, 1, getHead), "1:200.", ""},
		{"headers interleaved", head(endStream, 1, getHead) + frame(6, 0, 0, "12345678"), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"hpack bad index", frame(1, 5, 1, "\xff\xff\xff\xff\x0f"), "GOAWAY(COMPRESSION_ERROR)", ""},
		{"frame too big", frame(0, 1, 1, strings.Repeat("x", 20000)) + head(whole, 3, getHead), "GOAWAY(FRAME_SIZE_ERROR)", "GOAWAY(PROTOCOL_ERROR)"},
		{"rst idle", frame(3, 0, 7, "\x00\x00\x00\x00") + head(whole, 9, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"no settings first", head(whole, 1, getHead), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"100 headers many cookies", head(whole, 1, with(getHead, slices.Repeat([]string{"cookie", "a=b"}, 100)...)), "1:200.", ""},
		{"push promise", frame(5, 4, 1, "\x00\x00\x00\x02"+block(getHead)), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"continuation without a head", frame(9, 4, 1, block(getHead)), "GOAWAY(PROTOCOL_ERROR)", ""},
		{"a head in frames of a byte", bytewise(getHead), "1:200.", ""},
		{"empty continuations", frame(1, 1, 1, block(getHead)) + strings.Repeat(frame(9, 0, 1, ""), 20) + frame(9, 4, 1, ""), "1:200.", ""},
		{"hpack resize 1GB", frame(1, 5, 1, "\x3f\xff\xff\xff\xff\x03"+block(getHead)), "GOAWAY(COMPRESSION_ERROR)", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want := tt.gets
			if process.NetHTTP {
				want = ended.FindString(cmp.Or(tt.netHTTP, want))
			}
			var reached atomic.Int64
			u := upstream(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/last" {
					reached.Add(1)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, "ok")
			})
			c := dial(t, through(t, u.URL).addr)
			sent := http2.ClientPreface + frame(4, 0, 0, "") + tt.sent
			if tt.name == "no settings first" {
				sent = http2.ClientPreface + tt.sent
			}
			_, _ = io.WriteString(c, sent) // it may be refused before its end
			o := outcome{streams: map[uint32]string{}, fields: hpack.NewDecoder(4096, nil)}
			fr := http2.NewFramer(nil, c)
			fr.AllowIllegalReads = true
			for o.String() != want && o.read(fr) {
			}
			if got := o.String(); got != want {
				t.Fatalf("it has %q, want %q", got, want)
			}
			if !process.NetHTTP && !strings.Contains(want, "200") && !strings.Contains(want, "GOAWAY") && !slices.Contains(late, tt.name) && reached.Load() > 0 {
				t.Error("the upstream has a request that was refused")
			}
			if strings.Contains(want, "GOAWAY") {
				return
			}
			_, _ = io.WriteString(c, head(whole, 999, with(getHead[:7], "/last")))
			for o.streams[999] != "200." && o.read(fr) {
			}
			if want = strings.TrimPrefix(want+", 999:200.", ", "); o.String() != want {
				t.Errorf("with one more request it has %q, want %q", o.String(), want)
			}
		})
	}
}

var ended = regexp.MustCompile(`GOAWAY\(\w+\)`)

// outcome is what a client of HTTP/2 has got: for each stream the statuses, a dot where
// it has ended, and the code by which it was reset.
type outcome struct {
	streams map[uint32]string
	away    string
	fields  *hpack.Decoder
}

// read takes the next frame. False: there is none.
func (o *outcome) read(fr *http2.Framer) bool {
	f, err := fr.ReadFrame()
	if err != nil {
		return false
	}
	id := f.Header().StreamID
	reset := strings.HasPrefix(o.streams[id], "RST")
	if process.NetHTTP && id != 999 { // what net/http says of an odd stream is chance
		defer delete(o.streams, id)
	}
	switch f := f.(type) {
	case *http2.HeadersFrame:
		fields, _ := o.fields.DecodeFull(f.HeaderBlockFragment())
		for _, field := range fields {
			if field.Name == ":status" {
				o.streams[id] += field.Value
			}
		}
		if f.StreamEnded() {
			o.streams[id] += "."
		}
	case *http2.DataFrame:
		if f.StreamEnded() {
			o.streams[id] += "."
		}
	case *http2.RSTStreamFrame:
		if !reset { // how many frames behind a reset are answered is chance, and what came before it
			o.streams[id] = fmt.Sprintf("RST(%v)", f.ErrCode)
		}
	case *http2.GoAwayFrame:
		o.away = fmt.Sprintf("GOAWAY(%v)", f.ErrCode)
	}
	return true
}

// String names the streams in order. Of a connection that was ended for a fault it says
// that alone: what its streams had before is chance.
func (o *outcome) String() string {
	if o.away != "" && o.away != "GOAWAY(NO_ERROR)" {
		return o.away
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(o.streams)) {
		all = append(all, fmt.Sprintf("%d:%s", id, o.streams[id]))
	}
	if o.away != "" {
		all = append(all, o.away)
	}
	return strings.Join(all, ", ")
}
