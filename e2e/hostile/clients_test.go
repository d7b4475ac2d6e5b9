package hostile

import (
	"bytes"
	"context"
	"fmt"
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

	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// attack plays a hostile client on one connection, until the gateway ends it or ctx
// does. It calls begun once it is at work.
type attack func(ctx context.Context, c net.Conn, begun func())

// writes writes what it is given again and again, and reads nothing.
func writes(bytes string) attack {
	return func(ctx context.Context, c net.Conn, begun func()) {
		for ctx.Err() == nil {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			_, err := io.WriteString(c, bytes)
			begun()
			if err != nil {
				return
			}
		}
	}
}

// waits writes something and then waits for the end.
func waits(bytes string) attack {
	return func(ctx context.Context, c net.Conn, begun func()) {
		_, _ = io.WriteString(c, bytes)
		begun()
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
		_, _ = io.Copy(io.Discard, c)
	}
}

// framed begins HTTP/2 and calls next again and again, with stream numbers to use. What
// comes is read and dropped where reads says so.
func framed(reads bool, window uint32, next func(fr *http2.Framer, head func(fields ...string) []byte, stream uint32) error) attack {
	return func(ctx context.Context, c net.Conn, begun func()) {
		defer context.AfterFunc(ctx, func() { _ = c.Close() })()
		if reads {
			go func() { _, _ = io.Copy(io.Discard, c) }() // ends with c
		}
		fr := http2.NewFramer(c, nil)
		fr.AllowIllegalWrites = true
		_, _ = io.WriteString(c, http2.ClientPreface)
		_ = fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window})
		var block bytes.Buffer
		enc := hpack.NewEncoder(&block)
		head := func(fields ...string) []byte {
			block.Reset()
			for i := 0; i < len(fields); i += 2 {
				_ = enc.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
			}
			return block.Bytes()
		}
		for stream, n := uint32(1), 0; ctx.Err() == nil && stream < 1<<30; stream, n = stream+2, n+1 {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			err := next(fr, head, stream)
			if n == 100 || err != nil {
				begun()
			}
			if err != nil {
				return
			}
		}
	}
}

func get(head func(...string) []byte) []byte {
	return head(":method", "GET", ":scheme", "http", ":authority", "h", ":path", "/a")
}

// hostileClient is one kind of them, of which there are so many.
type hostileClient struct {
	name  string
	conns int
	play  attack
}

var attacks = []hostileClient{
	{"slow heads", 40, waits("GET / HTTP/1.1\r\nHost: h\r\nX-A: ")},
	{"nothing sent", 40, waits("")},
	{"slow bodies", 40, waits("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nx")},
	{"slow chunks", 40, waits("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")},
	{"pipelined, nothing read", 2, writes(strings.Repeat("GET /a HTTP/1.1\r\nHost: h\r\n\r\n", 100))},
	{"a hundred thousand fields", 1, writes("GET / HTTP/1.1\r\nHost: h\r\n" + strings.Repeat("a: b\r\n", 100_000) + "\r\n")},
	{"an endless line", 1, writes(strings.Repeat("GET /", 10_000))},
	{"endless chunk extensions", 1, func(ctx context.Context, c net.Conn, begun func()) {
		_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5")
		writes(strings.Repeat(";a=b", 10_000))(ctx, c, begun)
	}},
	{"endless empty lines", 1, writes(strings.Repeat("\r\n", 10_000))},
	{"rapid resets", 1, framed(true, 1<<16, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		_ = fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: get(head), EndStream: true, EndHeaders: true})
		return fr.WriteRSTStream(stream, http2.ErrCodeCancel)
	})},
	{"endless continuations", 1, framed(true, 1<<16, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		if stream == 1 {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: get(head), EndStream: true})
		}
		return fr.WriteContinuation(1, false, head("a", strings.Repeat("b", 1000)))
	})},
	{"pings, nothing read", 1, framed(false, 1<<16, func(fr *http2.Framer, _ func(...string) []byte, _ uint32) error {
		return fr.WritePing(false, [8]byte{})
	})},
	{"settings, nothing read", 1, framed(false, 1<<16, func(fr *http2.Framer, _ func(...string) []byte, _ uint32) error {
		return fr.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 16})
	})},
	{"priorities", 1, framed(true, 1<<16, func(fr *http2.Framer, _ func(...string) []byte, stream uint32) error {
		return fr.WritePriority(stream, http2.PriorityParam{StreamDep: stream + 2, Weight: 7})
	})},
	{"updates of priorities", 1, framed(true, 1<<16, func(fr *http2.Framer, _ func(...string) []byte, stream uint32) error {
		return fr.WriteRawFrame(0x10, 0, 0, append([]byte{0, 0, 0, byte(stream)}, "u=1, i"...)) // RFC 9218
	})},
	{"frames of no known type", 1, framed(true, 1<<16, func(fr *http2.Framer, _ func(...string) []byte, _ uint32) error {
		return fr.WriteRawFrame(0xbb, 0xff, 0, make([]byte, 1000))
	})},
	{"tables that grow and shrink", 1, framed(true, 1<<16, func(fr *http2.Framer, _ func(...string) []byte, stream uint32) error {
		return fr.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: stream % 3 * 4096}, http2.Setting{ID: http2.SettingMaxFrameSize, Val: 16384 + stream%2})
	})},
	{"windows without streams", 1, framed(true, 1<<16, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		if stream == 1 {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: get(head), EndStream: true, EndHeaders: true})
		}
		return fr.WriteWindowUpdate(1, 1) // of a stream that has ended
	})},
	{"TLS to a plain port", 20, waits("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 500))},
	{"a window of one byte at a time", 1, framed(true, 0, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		if stream < 400 {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: get(head), EndStream: true, EndHeaders: true})
		}
		return fr.WriteWindowUpdate(stream%400|1, 1)
	})},
	{"no window", 1, framed(true, 0, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		if stream < 500 {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: get(head), EndStream: true, EndHeaders: true})
		}
		<-time.After(10 * time.Millisecond)
		return fr.WritePing(true, [8]byte{})
	})},
	{"empty pieces of a body", 1, framed(true, 1<<16, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		if stream == 1 {
			return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: head(":method", "POST", ":scheme", "http", ":authority", "h", ":path", "/a"), EndHeaders: true})
		}
		return fr.WriteData(1, false, nil)
	})},
	{"fields that unfold", 1, framed(true, 1<<16, func(fr *http2.Framer, head func(...string) []byte, stream uint32) error {
		fields := []string{":method", "GET", ":scheme", "http", ":authority", "h", ":path", "/a"}
		for range 4000 { // a byte each, once the table has the first
			fields = append(fields, "a", strings.Repeat("b", 3000))
		}
		return fr.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: head(fields...), EndStream: true, EndHeaders: true})
	})},
}

// TestHostileClients: whatever some clients do, an honest user gets every response, the
// gateway's memory stays bounded, and nothing is left behind.
func TestHostileClients(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			p := start(t, setup{NetHTTP: process.NetHTTP, Monolith: monolithAt(t), Candidate: monolithAt(t), Timeout: patience})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var all, working sync.WaitGroup
			for range a.conns {
				working.Add(1)
				all.Go(func() { a.comeAgain(ctx, p.url(), sync.OnceFunc(working.Done)) })
			}
			working.Wait()
			client := honest()
			at := time.Now()
			for i := range 8 {
				if err := send(ctx, t, client, p.url(), 1, []int{0, 10, 50 << 10}[i%3], expectMonolith); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
			took := time.Since(at)
			client.CloseIdleConnections()
			stop()
			all.Wait()
			r := p.stop(t)
			t.Logf("8 requests took %v, peak memory %d MiB, ledger %+v", took, r.Peak>>20, r.Ledger)
		})
	}
}

// comeAgain plays an attack again whenever its connection has been ended.
func (a *hostileClient) comeAgain(ctx context.Context, url string, begun func()) {
	defer begun()
	for ctx.Err() == nil {
		c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			return
		}
		a.play(ctx, c, begun)
		_ = c.Close()
	}
}

// honest is a client with an address of its own, where this machine has two.
func honest() *http.Client {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if c, err := d.DialContext(ctx, network, addr); err == nil {
			return c, nil
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

// zeros is an endless body that costs nothing.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// TestGiantBodiesInConstantMemory sends 1 GiB up and 1 GiB down.
func TestGiantBodiesInConstantMemory(t *testing.T) {
	needs.Linux(t, "peak memory, which is read from /proc")
	needs.Long(t, "it sends 2 GiB over loopback")
	const size, bound = 1 << 30, 64 << 20
	u := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if err != nil {
			t.Errorf("upstream reads: %v", err)
		}
		if r.Method == http.MethodGet {
			w.Header().Set("Content-Length", fmt.Sprint(size))
			_, _ = io.CopyN(w, zeros{}, size)
			return
		}
		_, _ = fmt.Fprint(w, n)
	}))
	defer u.Close()
	p := start(t, setup{Monolith: u.URL, NetHTTP: process.NetHTTP})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	c := http.Client{Transport: transport}
	for _, known := range []bool{true, false} {
		req, _ := http.NewRequest(http.MethodPut, p.url()+"/up", io.LimitReader(zeros{}, size))
		if known {
			req.ContentLength = size
		}
		resp, err := c.Do(req)
		fatal.If(t, err)
		if got, err := io.ReadAll(resp.Body); string(got) != fmt.Sprint(size) {
			t.Errorf("length known %v: the upstream got %s bytes, %v", known, got, err)
		}
		_ = resp.Body.Close()
	}
	resp, err := c.Get(p.url() + "/down")
	fatal.If(t, err)
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != size {
		t.Errorf("down came %d bytes, %v", n, err)
	}
	if got := p.stop(t).Peak; got > bound {
		t.Errorf("the gateway held %d MiB at its peak, more than %d", got>>20, bound>>20)
	}
}
