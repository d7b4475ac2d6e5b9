package listener

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/conns"
	"whittle/internal/fatal"
	"whittle/internal/http1/smugglingtest"
)

// bytesConn is a connection that gives its bytes in pieces of a size.
type bytesConn struct {
	net.Conn
	rest []byte
	step int
}

func (c *bytesConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.rest[:min(c.step, len(c.rest))])
	c.rest = c.rest[n:]
	return n, nil
}

func strictly(b []byte, step int) (passed []byte, refused bool) {
	var malformed atomic.Int64
	g := newStrictConn(&bytesConn{rest: b, step: step}, 64<<10, &malformed, nil)
	passed, err := io.ReadAll(g)
	return passed, errors.Is(err, errFraming)
}

// TestNothingIsFreeButWhatIsUpgraded: whatever is not checked any more is
// treated as an upgrade, after which the connection takes no other request.
func TestNothingIsFreeButWhatIsUpgraded(t *testing.T) {
	lines := []string{"", "Upgrade:", "Upgrade: h2c", "Upgrade: x", "Upgrade: \t", "Upgrade: ,"}
	asks := []string{"", "Connection: upgrade", "Connection: keep-alive", "Connection: close, UPGRADE", "Connection:"}
	free := 0
	for _, a := range lines {
		for _, b := range lines {
			for _, c := range asks {
				for _, proto := range []string{"HTTP/1.0", "HTTP/1.1"} {
					text := "GET / " + proto + "\r\nHost: h\r\n"
					for _, line := range []string{a, b, c} {
						if line != "" {
							text += line + "\r\n"
						}
					}
					text += "\r\n"
					var malformed atomic.Int64
					g := newStrictConn(&bytesConn{rest: []byte(text), step: len(text)}, 64<<10, &malformed, nil)
					r, err := http.ReadRequest(bufio.NewReader(g))
					if err != nil {
						t.Fatalf("%q: %v", text, err)
					}
					if g.free {
						free++
						if UpgradeOf(r) == "" {
							t.Errorf("%q is passed on as plain, and nothing behind it is checked", text)
						}
					}
				}
			}
		}
	}
	if free == 0 {
		t.Error("no upgrade was recognised")
	}
}

// FuzzStrict holds the check against net/http's parser: where it lets one
// request and its body through, net/http finds the same one of the same length;
// and the result does not depend on how the bytes are cut.
func FuzzStrict(f *testing.F) {
	for _, s := range []string{
		"GET / HTTP/1.1\r\nHost: h\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nabcd",
		"POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\n0\r\nT: v\r\n\r\n",
		"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET / HTTP/1.0\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	for _, c := range smugglingtest.Cases("request") {
		f.Add([]byte(c.Message))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		passed, refused := strictly(b, len(b)+1)
		if again, refusedAgain := strictly(b, 1); refusedAgain != refused {
			t.Errorf("refused %v at once, %v byte by byte (%q, %q)", refused, refusedAgain, passed, again)
		}
		if refused || strings.HasPrefix(string(b), "PRI ") {
			return
		}
		r := bufio.NewReaderSize(bytes.NewReader(b), max(16, len(b)))
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil || UpgradeOf(req) != "" {
			return
		}
		// A second request put behind must be found by both at the same place.
		used := len(b) - r.Buffered()
		tail := "GET /tail HTTP/1.1\r\nHost: h\r\n\r\n"
		whole := append(bytes.Clone(b[:used]), tail...)
		if passed, refused := strictly(whole, 7); refused {
			t.Errorf("behind %q (body %q) a good request was refused after %q", b[:used], body, passed)
		}
		if _, refused := strictly(append(bytes.Clone(b[:used]), "GET / HTTP/1.1\r\nHost: h\n\r\n"...), 7); !refused {
			t.Errorf("behind %q (body %q) a bad request passed", b[:used], body)
		}
	})
}

// TestLingeringEndsWithTheServer: a client that sends without end holds up no server that
// ends, and until then it is read.
func TestLingeringEndsWithTheServer(t *testing.T) {
	c, client := net.Pipe()
	var draining atomic.Bool
	var sent atomic.Int64
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			if _, err := client.Write([]byte("x")); err != nil {
				return
			}
			if sent.Add(1) == 100 {
				draining.Store(true)
			}
		}
	}()
	linger(c, lingering{total: time.Hour, idle: time.Hour, bytes: math.MaxInt64}, &draining)
	_ = c.Close()
	<-gone
	if n := sent.Load(); n < 100 {
		t.Errorf("%d bytes were read", n)
	}
}

// TestWhatIsUnsentShowsThrough: who gets a connection of which something has been read sees
// how much of what was written the client has not taken, as with any other.
func TestWhatIsUnsentShowsThrough(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	fatal.If(t, err)
	defer far.Close()
	near, err := l.Accept()
	fatal.If(t, err)
	defer near.Close()
	_ = near.SetWriteDeadline(time.Now().Add(time.Second))
	for err == nil { // until the client's machine takes no more
		_, err = near.Write(make([]byte, 1<<20))
	}
	c := &client{Conn: near}
	through, ok := conns.Resume(c, []byte("x")).(interface{ Unsent() int })
	if !ok {
		t.Fatal("it does not say")
	}
	if got, want := through.Unsent(), c.Unsent(); got != want || runtime.GOOS == "linux" && got == 0 {
		t.Errorf("%d bytes, not %d", got, want)
	}
}

// TestIdleConnectionsHaveTheirTime: a connection that was used a while ago is not closed
// before it has been idle for as long as it may, by a deadline that an earlier request set.
func TestIdleConnectionsHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		limits := whittle.Limits{}.WithDefaults()
		c := &fastConn{l: &fastPath{s: New(Config{NetHTTP: true, Limits: limits})}, net: near, first: new([64]byte), used: true}
		c.reads.net = near
		for range 3 {
			go func() { _, _ = io.WriteString(far, "x") }()
			if !c.awaitRequest() {
				t.Fatal("nothing has come")
			}
			c.from = c.to
			time.Sleep(limits.IdleTimeout / 20)
		}
		since := time.Now()
		if c.awaitRequest() || time.Since(since) != limits.IdleTimeout {
			t.Errorf("it was closed after %v", time.Since(since))
		}
		_, _ = near.Close(), far.Close()
	})
}

// TestAPanicIsAnError has net/http's server itself say both kinds of remark.
func TestAPanicIsAnError(t *testing.T) {
	var said bytes.Buffer // read once the server is closed
	to := slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.WriteHeader(http.StatusOK) // of which it says something, too
		panic("a fault of ours")
	}))
	s.Config.ErrorLog = log.New(remarks{to}, "", 0)
	s.Start()
	if resp, err := http.Get(s.URL); err == nil {
		resp.Body.Close()
	}
	s.Close()
	fatal.Has(t, said.String(), "level=DEBUG msg=\"http: superfluous", "level=ERROR msg=\"http: panic serving")
}
