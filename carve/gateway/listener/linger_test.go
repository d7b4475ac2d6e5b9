package listener

import (
	"bytes"
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
)

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
	for _, want := range []string{"level=DEBUG msg=\"http: superfluous", "level=ERROR msg=\"http: panic serving"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%s is missing in\n%s", want, &said)
		}
	}
}
