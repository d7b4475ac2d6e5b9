package h2

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"whittle"
	"whittle/internal/fatal"
)

// endless responds to GET with a body that has no end, and counts what others upload.
func endless(uploaded chan<- int64) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			n, _ := io.Copy(io.Discard, r.Body)
			uploaded <- n
			return
		}
		for p := make([]byte, highWater); ; {
			if _, err := w.Write(p); err != nil {
				return
			}
		}
	})
}

// only gives the connection of a server that has one, when a condition holds for it.
func (s *Server) only(t *testing.T, holds func(*conn) bool) *conn {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		var found *conn
		s.conns.Each(func(c *conn) {
			c.mu.Lock()
			defer c.mu.Unlock()
			if holds(c) {
				found = c
			}
		})
		if found != nil {
			return found
		}
	}
	t.Fatal("it does not come to that")
	return nil
}

// stuck is a connection that takes no long write until it is closed.
type stuck struct {
	*net.TCPConn
	writes chan struct{} // is told of a long write
	closed chan struct{}
	once   sync.Once
}

func (s *stuck) Write(p []byte) (int, error) {
	if len(p) >= maxFrame {
		select {
		case s.writes <- struct{}{}:
		default: // it is known
		}
		<-s.closed
	}
	return s.TCPConn.Write(p)
}

func (s *stuck) Close() error {
	s.once.Do(func() { close(s.closed) })
	return s.TCPConn.Close()
}

// greedy is a client with windows for all that comes, which takes nothing of it, in front
// of a server that holds as much for it as it does.
func greedy(t *testing.T, h http.Handler) (*Server, *client) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	fatal.If(t, err)
	defer l.Close()
	c := dialled(t, l.Addr().String(), http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 30})
	near, err := l.Accept()
	fatal.If(t, err)
	s := New(limits(h))
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.Shutdown(ctx)
	})
	taking := &stuck{TCPConn: near.(*net.TCPConn), writes: make(chan struct{}, 1), closed: make(chan struct{})}
	s.Start(taking, nil, nothing{})
	c.must(0, c.WriteWindowUpdate(0, 1<<30))
	for range 4 {
		c.begin(true, pseudo(http.MethodGet, "/")...)
	}
	<-taking.writes // from here on nothing is taken of what is there to be written
	s.only(t, func(c *conn) bool { return len(c.senders) == 4 })
	return s, c
}

// TestUploadWhileNothingIsTaken: a client that takes nothing of responses for the moment is
// read all the same.
func TestUploadWhileNothingIsTaken(t *testing.T) {
	uploaded := make(chan int64, 1)
	_, h := greedy(t, endless(uploaded))
	up := h.begin(false, pseudo(http.MethodPost, "/")...)
	const frames = bodyWindow / 2 / maxFrame
	for i := range frames {
		h.must(0, h.WriteData(up, i == frames-1, make([]byte, maxFrame)))
	}
	select {
	case n := <-uploaded:
		fatal.Same(t, n, bodyWindow/2, "bytes came")
	case <-time.After(patience):
		t.Error("the upload stands still")
	}
}

// TestEndedStreamsDoNotCount: a response without a body that was flushed ends its stream
// for the client, which may begin another one while the handler runs.
func TestEndedStreamsDoNotCount(t *testing.T) {
	end := make(chan struct{})
	c := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if r.URL.Path == "/first" {
			w.(http.Flusher).Flush()
			<-end
		}
	}))
	c.Streams = 1
	s, addr := serving(t, c)
	h := dialled(t, addr)
	h.begin(true, pseudo(http.MethodGet, "/first")...)
	h.until("1 head 204.")
	h.begin(true, pseudo(http.MethodGet, "/second")...)
	s.only(t, func(c *conn) bool { return c.last == 3 })
	close(end)
	h.until("3 head 204.")
}

// leisurely is a connection whose client's machine has so much to take.
type leisurely struct {
	net.Conn
	left atomic.Int64
}

func (l *leisurely) CloseWrite() error { return nil }

func (l *leisurely) Unsent() int { return int(l.left.Load()) }

// TestLastBytesAreTaken: a connection that has ended is not closed while its client takes
// what was written, slowly and with updates of windows, and is when it takes nothing or
// has taken all.
func TestLastBytesAreTaken(t *testing.T) {
	const stall = time.Minute
	lingers := func(t *testing.T, client func(l *leisurely, far net.Conn)) (took time.Duration) {
		synctest.Test(t, func(*testing.T) {
			near, far := net.Pipe()
			l := &leisurely{Conn: near}
			l.left.Store(10)
			c := &conn{s: New(Config{Limits: whittle.Limits{StallTimeout: stall}}), net: l}
			var running sync.WaitGroup
			running.Go(func() { client(l, far) })
			begun := time.Now()
			c.linger()
			took = time.Since(begun)
			_, _ = near.Close(), far.Close()
			running.Wait()
		})
		return took
	}
	slowly := func(l *leisurely, far net.Conn) {
		for l.left.Load() > 0 {
			time.Sleep(stall / 2)
			l.left.Add(-1)
			_, _ = far.Write(make([]byte, 13))
		}
	}
	if took := lingers(t, slowly); took < 10*stall/2 || took > 10*stall/2+2*lingerTime {
		t.Errorf("a client that takes all in %v has %v", 10*stall/2, took)
	}
	if took := lingers(t, func(*leisurely, net.Conn) {}); took < stall || took > stall+lingerTime {
		t.Errorf("a client that takes nothing has %v", took)
	}
	chatty := func(l *leisurely, far net.Conn) {
		l.left.Store(0)
		for {
			if _, err := far.Write(make([]byte, 17)); err != nil {
				return
			}
			time.Sleep(lingerTime / 2)
		}
	}
	if took := lingers(t, chatty); took < stall || took > stall+lingerTime {
		t.Errorf("a client that has taken all, and is not silent, has %v", took)
	}
	gone := func(_ *leisurely, far net.Conn) { _ = far.Close() }
	fatal.Same(t, lingers(t, gone), 0, "a client that closes is waited for")
}

// TestEarlyResponseIsNotReset: a client whose request has its response before it has ended
// may end it: no reset follows the response as long as it is about to.
func TestEarlyResponseIsNotReset(t *testing.T) {
	_, addr := serving(t, limits(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})))
	for name, end := range map[string]func(h *client, stream uint32) error{
		"data": func(h *client, stream uint32) error { return h.WriteData(stream, true, make([]byte, maxFrame)) },
		"trailer": func(h *client, stream uint32) error {
			return h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: h.encoded("x-sum", "1"), EndHeaders: true, EndStream: true})
		},
		"reset": func(h *client, stream uint32) error { return h.WriteRSTStream(stream, http2.ErrCodeCancel) },
	} {
		t.Run(name, func(t *testing.T) {
			h := dialled(t, addr)
			for range 20 { // more than there are streams
				stream := h.begin(false, pseudo(http.MethodPost, "/")...)
				h.until(fmt.Sprint(stream, " head 413 content-length=0."))
				h.must(0, h.WriteData(stream, false, make([]byte, maxFrame)))
				h.must(0, end(h, stream))
				h.must(0, h.WritePing(false, [8]byte{}))
				if seen := h.until("pong"); len(seen) > 1 {
					t.Errorf("the client sees %q", seen)
				}
			}
		})
	}
	h := dialled(t, addr)
	h.begin(false, pseudo(http.MethodPost, "/")...)
	if seen := h.until("1 reset"); seen[len(seen)-1] != "1 reset NO_ERROR" {
		t.Errorf("a client that does not end its request sees %q", seen)
	}
}

// TestUploadsThatNobodyReads leave the others of their connection room, however many they
// are, and what they hold is given back with them.
func TestUploadsThatNobodyReads(t *testing.T) {
	const unread, each = 8, mostWindow
	release := make(chan struct{})
	free := sync.OnceFunc(func() { close(release) })
	t.Cleanup(free)
	s, addr := serving(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/unread" {
			<-release
		}
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, err)
	})))
	client := goClient(t)
	post := func(path string, size int64) (string, error) {
		req, err := http.NewRequest(http.MethodPost, "http://"+addr+path, io.LimitReader(zeros{}, size))
		if err != nil {
			return "", err
		}
		resp, err := client.Do(req)
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return string(got), err
	}
	var waiting sync.WaitGroup
	for range unread {
		waiting.Go(func() {
			if got, err := post("/unread", each); err != nil || got != fmt.Sprint(each, nil) {
				t.Errorf("unread at first: %s, %v", got, err)
			}
		})
	}
	s.only(t, func(c *conn) bool {
		full := 0
		for _, st := range c.streams {
			if st.left == 0 {
				full++
			}
		}
		return full == unread
	})
	for range 3 {
		if got, err := post("/", 8*connWindow); err != nil || got != fmt.Sprint(8*connWindow, nil) {
			t.Errorf("next to them: %s, %v", got, err)
		}
	}
	free()
	waiting.Wait()
	s.only(t, func(c *conn) bool { return len(c.streams) == 0 && c.grown == 0 && c.extra == 0 && s.extra.Load() == 0 })
}

// zeros reads as zeros without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
