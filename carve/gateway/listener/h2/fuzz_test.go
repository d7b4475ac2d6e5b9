package h2

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2"

	"whittle/internal/fatal"
)

// noting is a handler that notes what it is asked, and echoes it.
type noting struct {
	mu    sync.Mutex // guards the following
	asked map[string]string
}

func (h *noting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q %q %q %q %d %q %v", r.Method, r.RequestURI, r.URL.Path, r.URL.RawQuery, r.Host, r.ContentLength, body, err != nil)
	for i, fields := range []http.Header{r.Header, r.Trailer} {
		var names []string
		for name := range fields {
			if i == 0 || httpguts.ValidTrailerHeader(name) && httpguts.ValidHeaderFieldName(name) { // net/http announces what none can be
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, " %s=%q", name, fields[name])
		}
		b.WriteString(" |")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked[r.Header.Get("Stream")] = b.String()
	_, _ = w.Write(body)
}

func (h *noting) taken() map[string]string {
	h.mu.Lock()
	defer h.mu.Unlock()
	asked := h.asked
	h.asked = map[string]string{}
	return asked
}

// FuzzRequests holds what the handler is asked, and what the client sees, to net/http's
// server: both read the same of every request that is served here. What is refused here
// may be served there.
//
// A text has requests between empty lines. A line is a field with its value, or, behind
// the fields, a piece of the body (".") or a field of the trailer ("+").
func FuzzRequests(f *testing.F) {
	for _, text := range []string{
		"",
		"accept */*\n\naccept */*",
		":path /a?b=c%20d\naccept a\naccept b\nx-a 1",
		":method POST\ncontent-length 3\n.abc\n\n:path /b",
		":method POST\n.abc\n.\n.de",
		":method PUT\ntrailer x-sum, x-b\n.abc\n+x-sum 1\n+x-c 2",
		"cookie a=b\ncookie c=d\ncookie",
		":method HEAD", ":method OPTIONS\n:path *", "expect 100-continue\n:method POST\n.a",
		"content-length 0", ":method POST\ncontent-length 5\n.abc", ":authority \nhost h", "host other",
		":path /%", ":path //x//", ":scheme https", "te trailers", "X-Upper 1", "connection close", "x-a  b", ":path", ":method",
		":authority a@b", "x \x00", "trailer content-length, transfer-encoding, x\n.a\n+x 1\n+content-length 3",
	} {
		f.Add(text)
	}
	ours, theirs := &noting{asked: map[string]string{}}, &noting{asked: map[string]string{}}
	_, here := serving(f, limits(ours))
	there := byNetHTTP(f, limits(theirs))
	var rounds atomic.Int64
	f.Fuzz(func(t *testing.T, text string) {
		requests := strings.Split(text, "\n\n")
		requests = requests[:min(len(requests), 8)]
		round := rounds.Add(1) // the handler of a request that was refused may still run
		got, want := asks(t, here, requests, round), asks(discard{t}, there, requests, round)
		read, readThere := ours.taken(), theirs.taken()
		for stream, response := range got {
			if strings.Contains(response, "reset") || strings.HasPrefix(response, "400") || want[stream] == "" { // net/http ends a connection on the trailer of a stream that it has reset
				continue
			}
			if response != want[stream] {
				t.Errorf("of %q\nstream %d gets %q\nby net/http  %q", text, stream, response, want[stream])
			}
			if id := fmt.Sprint(round, stream); read[id] != readThere[id] {
				t.Errorf("of %q\nread     %q\nnet/http %q", text, read[id], readThere[id])
			}
		}
	})
}

// asks sends requests and gives what comes for each, by stream.
func asks(t testing.TB, addr string, requests []string, round int64) map[uint32]string {
	h := dialled(t, addr)
	defer h.Close()
	if _, ok := t.(discard); ok {
		_ = h.SetDeadline(time.Now().Add(time.Second)) // the peer may have forgotten a stream
	}
	var streams []uint32
	for _, request := range requests {
		fields := map[string]string{":method": "GET", ":scheme": "http", ":authority": "h", ":path": "/"}
		var regular, trailer []string
		var pieces []string
		for line := range strings.SplitSeq(request, "\n") {
			name, value, _ := strings.Cut(line, " ")
			switch {
			case strings.HasPrefix(line, "."):
				pieces = append(pieces, line[1:])
			case strings.HasPrefix(line, "+"):
				trailer = append(trailer, name[1:], value)
			case fields[name] != "":
				fields[name] = value
			case line != "":
				regular = append(regular, name, value)
			}
		}
		all := []string{":method", fields[":method"], ":scheme", fields[":scheme"], ":authority", fields[":authority"], ":path", fields[":path"]}
		all = append(append(all, regular...), "stream", fmt.Sprint(round, h.stream))
		s := h.begin(len(pieces)+len(trailer) == 0, all...)
		for i, piece := range pieces {
			h.must(0, h.WriteData(s, i == len(pieces)-1 && len(trailer) == 0, []byte(piece)))
		}
		if len(trailer) > 0 {
			h.must(0, h.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: h.encoded(trailer...), EndStream: true, EndHeaders: true}))
		}
		streams = append(streams, s)
	}
	all := h.whole(streams...)
	for s, text := range all {
		all[s] = sorted(strings.TrimPrefix(text, "head 100")) // net/http sends it also where there is no body
	}
	return all
}

// FuzzFrames: whatever a client sends, its connection ends when it does, with nothing left.
func FuzzFrames(f *testing.F) {
	frames := func(write func(fr *http2.Framer)) {
		var b bytes.Buffer
		fr := http2.NewFramer(&b, nil)
		fr.AllowIllegalWrites = true
		_ = fr.WriteSettings()
		write(fr)
		f.Add(b.Bytes())
	}
	const get = "\x82\x86\x84\x41\x01h"
	frames(func(*http2.Framer) {})
	frames(func(fr *http2.Framer) { _ = fr.WriteRawFrame(1, 5, 1, []byte(get)) })
	frames(func(fr *http2.Framer) {
		_ = fr.WriteRawFrame(1, 0, 1, []byte(get[:3]))
		_ = fr.WriteRawFrame(9, 4, 1, []byte(get[3:]))
		_ = fr.WriteDataPadded(1, false, []byte("abc"), make([]byte, 9))
		_ = fr.WriteRawFrame(1, 5, 1, []byte("\x40\x01a\x01b"))
	})
	frames(func(fr *http2.Framer) {
		_ = fr.WriteSettings(http2.Setting{ID: 4, Val: 0}, http2.Setting{ID: 1, Val: 0}, http2.Setting{ID: 5, Val: 1 << 20})
		_ = fr.WriteRawFrame(1, 5, 1, []byte(get))
		_ = fr.WriteWindowUpdate(1, 1)
		_ = fr.WriteWindowUpdate(0, 1)
		_ = fr.WritePing(false, [8]byte{})
		_ = fr.WriteRSTStream(1, 8)
		_ = fr.WriteRawFrame(1, 5, 3, []byte(get))
		_ = fr.WriteGoAway(0, 0, nil)
		_ = fr.WritePing(true, [8]byte(departPing))
		_ = fr.WriteRawFrame(1, 5, 5, []byte(get))
	})
	c := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
		_, _ = w.Write(make([]byte, 10_000))
	}))
	c.StallTimeout = 100 * time.Millisecond
	_, addr := serving(f, c)
	f.Fuzz(func(t *testing.T, sent []byte) {
		c, err := net.Dial("tcp", addr)
		fatal.If(t, err)
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(patience))
		go func() {
			_, _ = io.WriteString(c, preface)
			_, _ = c.Write(sent)
			_ = c.(*net.TCPConn).CloseWrite()
		}()
		fr := http2.NewFramer(nil, c)
		for {
			if _, err := fr.ReadFrame(); err != nil {
				var timeout net.Error
				if errors.As(err, &timeout) && timeout.Timeout() {
					t.Fatalf("the connection goes on after %q", sent)
				}
				return
			}
		}
	})
}
