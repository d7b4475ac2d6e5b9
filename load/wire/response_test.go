package wire

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/http1/smugglingtest"
	"whittle/load/report"
)

// TestWhenAResponseEnds: one that ends with its connection has ended when that did.
func TestWhenAResponseEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok": 1,
		"HTTP/1.1 200 OK\r\n\r\nok":                      2,
	} {
		reads := 0
		clock := func() time.Time { reads++; return time.Unix(int64(reads), 0) }
		r := newResponseReader(strings.NewReader(text), clock, 1<<10)
		var a response
		if err := r.readResponse("GET", 10, &a); err != nil || string(a.body) != "ok" || !r.lastByte.Equal(time.Unix(int64(want), 0)) {
			t.Errorf("%q: %v, %q, ended at %v", text, err, a.body, r.lastByte.Unix())
		}
	}
}

// FuzzResponse checks that no bytes make the reader crash, hold more than its
// bounds, or claim more than it was given; and that reading in other pieces
// gives the same response.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), 3)
	f.Add([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), 100)
	f.Add([]byte("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nx"), 0)
	for _, c := range smugglingtest.Cases("response") {
		f.Add([]byte(c.Message), 10)
	}
	f.Fuzz(func(t *testing.T, in []byte, keep int) {
		keep = min(max(keep, 0), 1000)
		read := func(r io.Reader) (response, error) {
			var a response
			w := newResponseReader(r, time.Now, 16)
			err := w.readResponse("GET", keep, &a)
			if len(a.body) > keep || a.size > int64(len(in)) || len(w.buf) > maxHead+firstBuffer || w.received > int64(len(in)) {
				t.Fatalf("%d bytes kept, size %d, buffer %d, received %d of %d", len(a.body), a.size, len(w.buf), w.received, len(in))
			}
			return a, err
		}
		a, err := read(bytes.NewReader(in))
		b, other := read(iotest.OneByteReader(bytes.NewReader(in)))
		if (err == nil) != (other == nil) {
			t.Fatalf("whole: %v, byte by byte: %v", err, other)
		}
		if err == nil && (a.status != b.status || !bytes.Equal(a.body, b.body) || a.size != b.size) {
			t.Fatalf("whole: %+v, byte by byte: %+v", a, b)
		}
		if err == nil && (a.status < 200 || a.status > 999) {
			t.Fatalf("status %d", a.status)
		}
	})
}

// A connection keeps the deadline of its last request, which is past when a
// user has thought for longer, and in every block of a comparison.
func TestAnIdleConnectionIsKeptPastItsLastDeadline(t *testing.T) {
	for name, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			srv := start(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			defer srv.Close()
			e, err := parseEndpoint(srv.URL, true, false)
			fatal.If(t, err)
			d := newDialer(1, time.Now)
			c, err := d.dial(t.Context(), e, nil, time.Now().Add(time.Minute))
			fatal.If(t, err)
			defer d.close(c)
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nhost: x\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			fatal.If(t, c.readResponse(http.MethodGet, 0, new(response)))
			fatal.If(t, c.SetDeadline(time.Unix(1, 0)))
			if c.closedByPeer() {
				t.Error("an open connection counts as closed")
			}
			srv.CloseClientConnections()
			fatal.If(t, c.SetDeadline(time.Time{}))
			if _, err := c.Read(make([]byte, 1)); err == nil {
				t.Fatal("the server has closed nothing")
			}
			fatal.If(t, c.SetDeadline(time.Unix(1, 0)))
			if !c.closedByPeer() {
				t.Error("a closed connection counts as open")
			}
		})
	}
}

// What this machine has no more of is no failure of the target's.
func TestOwnLimitsAreAKindOfTheirOwn(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&dialError{"a:1", os.NewSyscallError("socket", syscall.EMFILE)}, report.ErrorGenerator},
		{&dialError{"a:1", &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}}, report.ErrorGenerator},
		{&dialError{"a:1", fmt.Errorf("x: %w", syscall.ENOBUFS)}, report.ErrorGenerator},
		{&dialError{"a:1", os.NewSyscallError("connect", syscall.ECONNREFUSED)}, report.ErrorRefused},
		{&dialError{"a:1", os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, report.ErrorConnect},
		{os.NewSyscallError("write", syscall.ENOBUFS), report.ErrorReset}, // on a connection that was there
		{errors.New("x"), report.ErrorReset},
	} {
		fatal.Same(t, FailureKind(c.err), c.want, "%v", c.err)
	}
}

// played is a connection whose server sends what is given, whatever it is asked.
type played struct{ io.Reader }

func (played) Write(b []byte) (int, error) { return len(b), nil }
func (played) SetDeadline(time.Time) error { return nil }
func (played) Close() error                { return nil }
func (played) HasInput() bool              { return true }

// Whatever a server sends, a response comes of it or an error, within bounds.
func FuzzStreams(f *testing.F) {
	for _, seed := range []string{
		"000000040000000000" + "000001010500000001" + "88",                                 // settings, :status 200
		"000000040000000000" + "000001010400000001" + "88" + "000002000100000001" + "6869", // and two bytes
		"000008060000000000" + "0102030405060708" + "000008070000000000" + "0000000100000000",
		"485454502f312e3120343030",
	} {
		b, err := hex.DecodeString(seed)
		fatal.If(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &conn{stream: played{bytes.NewReader(b)}}
		c.responseReader = newResponseReader(c.stream, time.Now, firstBuffer)
		s := newStreams(c)
		var into response
		for range 3 {
			_, _, err := s.roundTrip([]byte("POST /a HTTP/1.1\r\nHost: x\r\nA: b\r\n\r\nbody"), "http", "POST", 100, &into)
			if err != nil {
				break
			}
			if into.status < 200 || into.status > 999 || len(into.body) > 100 || len(into.head) > maxHead {
				t.Fatalf("status %d, %d bytes of body, %d of head", into.status, len(into.body), len(into.head))
			}
			s.usable()
		}
		if len(c.buf) > maxHead {
			t.Fatalf("a buffer of %d bytes", len(c.buf))
		}
	})
}

func TestCookiesGoWhereTheyBelong(t *testing.T) {
	now := time.Unix(1e9, 0)
	plainly := &endpoint{address: "app.example.org:80"}
	for _, c := range []struct {
		line, host, target string
		to                 *endpoint
		want               string
	}{
		{"a=1", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Path=/x", "app.example.org", "/x/y?z", plainly, "a=1"},
		{"a=1; Path=/x", "app.example.org", "/xy", plainly, ""},
		{"a=1; Path=/x/", "app.example.org", "/x", plainly, ""},
		{"a=1; Domain=.Example.org", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Domain=example.org", "other.example.org", "/", plainly, "a=1"},
		{"a=1; Domain=example.org", "evil.org", "/", plainly, ""},
		{"a=1", "other.example.org", "/", plainly, ""},
		{"a=1; Domain=ple.org", "app.example.org", "/", plainly, ""},
		{"a=1; Secure", "app.example.org", "/", plainly, ""},
		{"a=1; Secure", "app.example.org", "/", &endpoint{address: "app.example.org:443", tls: &tls.Config{}}, "a=1"},
		{"a=1; Max-Age=0", "app.example.org", "/", plainly, ""},
		{"a=1; Max-Age=1", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=Sun, 09 Sep 2001 01:46:39 GMT", "app.example.org", "/", plainly, ""},
		{"a=1; Expires=Sun, 09 Sep 2001 01:46:41 GMT", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=Thu, 01-Jan-70 00:00:01 GMT", "app.example.org", "/", plainly, ""},
		{"a=1; Expires=Fri, 09-Sep-33 01:46:40 GMT", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=Sun Sep  9 01:46:39 2001", "app.example.org", "/", plainly, ""},
		{"a=1; Expires=Sunday, 09-Sep-01 01:46:41 GMT", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Expires=yesterday", "app.example.org", "/", plainly, "a=1"},
		{"a=1; Domain=0.0.1", "127.0.0.1", "/", &endpoint{address: "127.0.0.1:80"}, ""},
		{"nonsense", "app.example.org", "/", plainly, ""},
		{"a=" + strings.Repeat("x", maxCookieBytes), "app.example.org", "/", plainly, ""},
	} {
		var j jar
		j.setFromHeader(c.line, c.host, "/", now)
		want := ""
		if c.want != "" {
			want = "cookie: " + c.want + "\r\n"
		}
		fatal.Same(t, string(j.appendHeader(nil, c.to, c.target, now)), want, "%.60s from %s", c.line, c.host)
	}
}

func TestAJarReplacesOrdersAndIsBounded(t *testing.T) {
	now, e := time.Unix(1e9, 0), &endpoint{address: "h:80"}
	var j jar
	for _, line := range []string{
		"a=1", "b=2; Path=/", "c=3; Path=/deep/er", "a=4; Path=/deep", "gone=1; Path=/", "gone=; Path=/; Max-Age=-1",
		"old=1; Path=/", "old=; Path=/; Expires=Thu, 1 Jan 1970 00:00:00 GMT", "past=1; Path=/", "past=; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 +0000",
	} {
		j.setFromHeader(line, "h", "/deep/page", now)
	}
	fatal.Same(t, string(j.appendHeader(nil, e, "/deep/er/x", now)), "cookie: c=3; a=4; b=2\r\n", "")
	for _, c := range []struct {
		noEmpty bool
		want    string
	}{{false, "cookie: c=3; a=; b=2\r\n"}, {true, "cookie: c=3; b=2\r\n"}} {
		j.noEmpty = c.noEmpty
		j.setFromHeader("a=; Path=/deep", "h", "/deep/page", now)
		fatal.Same(t, string(j.appendHeader(nil, e, "/deep/er/x", now)), c.want, "no empty ones %v", c.noEmpty)
	}
	for i := range 3 * maxCookies {
		j.setFromHeader(fmt.Sprintf("k%d=v", i), "h", "/", now)
	}
	if len(j.cookies) != maxCookies || j.cookies[maxCookies-1].name != fmt.Sprintf("k%d", 3*maxCookies-1) {
		t.Errorf("%d cookies, the last %+v", len(j.cookies), j.cookies[len(j.cookies)-1])
	}
}
