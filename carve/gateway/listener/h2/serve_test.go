package h2

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"whittle/internal/notify"
)

// ways is a handler that responds in one of many ways, by the path.
func ways(w http.ResponseWriter, r *http.Request) {
	h, rc := w.Header(), http.NewResponseController(w)
	switch r.URL.Path {
	case "/nothing":
	case "/short":
		_, _ = io.WriteString(w, "short")
	case "/typed":
		h["Content-Type"] = nil // keeps one from being guessed
		_, _ = io.WriteString(w, "<html>")
	case "/announced":
		h.Set("Content-Length", "5")
		_, _ = io.WriteString(w, "short")
	case "/less":
		h.Set("Content-Length", "6")
		_, _ = io.WriteString(w, "short")
	case "/more":
		h.Set("Content-Length", "4")
		_, _ = io.WriteString(w, "short") // an error
		_, _ = io.WriteString(w, "less")
	case "/204":
		w.WriteHeader(http.StatusNoContent)
		_, _ = io.WriteString(w, "x") // an error
	case "/304":
		h.Set("Etag", `"a"`)
		w.WriteHeader(http.StatusNotModified)
	case "/flushed":
		_, _ = io.WriteString(w, "a")
		_ = rc.Flush()
		_, _ = io.WriteString(w, "b")
	case "/flushed first":
		_ = rc.Flush()
	case "/hints":
		h.Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
		h.Del("Link")
		_, _ = io.WriteString(w, "a")
	case "/announced trailer":
		h.Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "a")
		h.Set("X-Sum", "1")
	case "/trailer":
		_, _ = io.WriteString(w, "a")
		h.Set(http.TrailerPrefix+"X-Sum", "1")
	case "/trailer alone":
		h.Set(http.TrailerPrefix+"X-Sum", "1")
	case "/specific":
		h.Set("Keep-Alive", "1")
		h.Set("Upgrade", "a")
		h.Set("Transfer-Encoding", "chunked")
		h.Set("X-Bad", "a\nb")
		h["x y"] = []string{"1"}
		h.Set("X-Good", " padded\t")
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/panic late":
		_, _ = io.WriteString(w, "a")
		_ = rc.Flush()
		panic(http.ErrAbortHandler)
	case "/long":
		for range 10 {
			_, _ = w.Write(bytes.Repeat([]byte("x"), 5000))
		}
	case "/echo":
		_, _ = io.Copy(w, r.Body)
		for name, values := range r.Trailer {
			h[http.TrailerPrefix+name] = values
		}
	case "/refuse":
		w.WriteHeader(http.StatusForbidden)
	}
}

// TestResponses holds each way to respond to what net/http makes of it, but for what
// differs by intent.
func TestResponses(t *testing.T) {
	c := limits(http.HandlerFunc(ways))
	_, ours := serving(t, c)
	a, b := dialled(t, ours), dialled(t, byNetHTTP(t, c))
	sum := func(text string) string {
		if len(text) > 1000 {
			return fmt.Sprintf("%.40s %d", text, len(text))
		}
		return text
	}
	for _, tt := range []struct{ path, ours string }{ // "": as net/http
		{"/nothing", ""},
		{"/short", ""},
		{"/typed", ""},
		{"/announced", ""},
		{"/less", "reset INTERNAL_ERROR"},
		{"/more", "head 200 content-length=4 content-type=text/plain; charset=utf-8|less"},
		{"/204", ""},
		{"/304", ""},
		{"/flushed", ""},
		{"/flushed first", ""},
		{"/hints", ""},
		{"/announced trailer", ""},
		{"/trailer", ""},
		{"/trailer alone", ""},
		{"/specific", "head 200 x-good=padded content-length=0."},
		{"/panic", ""},
		{"/panic late", ""},
		{"/long", ""},
		{"/refuse", ""},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			var got [2]string
			for i, c := range []*client{a, b} {
				s := c.begin(true, pseudo(method, strings.ReplaceAll(tt.path, " ", "%20"))...)
				got[i] = sorted(c.whole(s)[s])
			}
			want := tt.ours
			switch {
			case tt.ours != "" && method == http.MethodHead, tt.path == "/long" && method == http.MethodHead:
				continue
			case want == "":
				want = got[1]
			}
			if got[0] != sorted(want) {
				t.Errorf("%s %s: %q, want %q", method, tt.path, sum(got[0]), sum(want))
			}
		}
	}
}

// sorted gives the words of what came before a body in order.
func sorted(text string) string {
	head, body, found := strings.Cut(text, "|")
	last := strings.HasSuffix(head, ".")
	words := strings.Fields(strings.TrimSuffix(head, "."))
	slices.Sort(words)
	head = strings.Join(words, " ")
	if last {
		head += "."
	}
	if found {
		body = strings.TrimSuffix(strings.ReplaceAll(body, ".", ""), ".") // whether the end came alone
		head += "|" + body
	}
	return head
}

// TestRequestBodies sends bodies with all that may come with them.
func TestRequestBodies(t *testing.T) {
	_, addr := serving(t, limits(http.HandlerFunc(ways)))
	c := dialled(t, addr)
	echo := func(fields ...string) uint32 { return c.begin(false, pseudo(http.MethodPost, "/echo", fields...)...) }
	check := func(stream uint32, want string) {
		t.Helper()
		if got := sorted(c.whole(stream)[stream]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	s := echo()
	c.must(0, c.WriteData(s, false, []byte("a")))
	c.must(0, c.WriteDataPadded(s, false, []byte("b"), make([]byte, 200)))
	c.must(0, c.WriteData(s, true, nil))
	check(s, "200 charset=utf-8 content-length=2 content-type=text/plain; head|ab")
	s = echo("content-length", "2", "trailer", "x-sum, content-length", "expect", "100-continue")
	if seen := c.until(fmt.Sprint(s)); !strings.HasSuffix(seen[len(seen)-1], "head 100") {
		t.Errorf("%q in place of a 100", seen)
	}
	c.must(0, c.WriteData(s, false, []byte("ab")))
	c.must(0, c.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: c.encoded("x-sum", "1", "x-other", "2"), EndStream: true, EndHeaders: true}))
	check(s, "200 charset=utf-8 content-length=2 content-type=text/plain; head|abtrailer x-sum=1")
	s = c.begin(false, pseudo(http.MethodPost, "/refuse")...)
	check(s, "403 content-length=0 head.") // and the rest of the body is not wanted
	c.must(0, c.WriteData(s, false, []byte("on its way")))
	c.must(0, c.WriteHeaders(http2.HeadersFrameParam{StreamID: s, BlockFragment: c.encoded("x-sum", "1"), EndStream: true, EndHeaders: true}))
	s = echo("content-length", "3")
	c.must(0, c.WriteData(s, true, []byte("ab")))
	check(s, "PROTOCOL_ERROR reset")
	s = echo("content-length", "1")
	c.must(0, c.WriteData(s, false, []byte("ab")))
	check(s, "PROTOCOL_ERROR reset")
}

// TestTrailerIsTheHandlers has a handler take fields out of what is announced, before and
// after the trailer has come: they stay out, and nobody else looks at the map meanwhile.
func TestTrailerIsTheHandlers(t *testing.T) {
	come := make(chan struct{})
	_, addr := serving(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		delete(r.Trailer, "X-Before")
		<-come
		delete(r.Trailer, "X-After")
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, r.Trailer)
	})))
	c := dialled(t, addr)
	s := c.begin(false, pseudo(http.MethodPost, "/", "trailer", "x-before, x-after, x-sum")...)
	c.must(0, c.WriteData(s, false, []byte("a")))
	c.must(0, c.WriteHeaders(http2.HeadersFrameParam{
		StreamID: s, BlockFragment: c.encoded("x-before", "1", "x-after", "2", "x-sum", "3", "x-other", "4"), EndStream: true, EndHeaders: true,
	}))
	c.must(0, c.WritePing(false, [8]byte{1}))
	c.until("pong") // what was sent before has been taken
	close(come)
	if got, want := c.whole(s)[s], "|map[X-Sum:[3]]."; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLongBodies sends much in both directions at once, over one connection, through
// windows of the usual size and through one of a byte at a time.
func TestLongBodies(t *testing.T) {
	_, addr := serving(t, limits(http.HandlerFunc(ways)))
	c := goClient(t)
	sent := make([]byte, 5<<20)
	_, _ = rand.Read(sent)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			resp, err := c.Post("http://"+addr+"/echo", "", struct{ io.Reader }{bytes.NewReader(sent)})
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("%d bytes came back, %v", len(got), err)
			}
		})
	}
	all.Wait()
	slow := dialled(t, addr, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
	s := slow.begin(true, pseudo(http.MethodGet, "/long")...)
	slow.until("1 head")
	for i := range 100 {
		if e := slow.until("1 ")[0]; e != "1 data x" {
			t.Fatalf("piece %d is %q", i, e)
		}
		slow.must(0, slow.WriteWindowUpdate(s, 1))
	}
	slow.must(0, slow.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20}))
	for got := 100; got < 50_000; {
		e := slow.until("1 data")
		got += strings.Count(e[len(e)-1], "x")
	}
}

// TestDeadlines: what a handler waits for ends at the deadline that it has set, at once
// where that has passed, and not where it was moved.
func TestDeadlines(t *testing.T) {
	errs := make(chan error, 4)
	c := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		switch r.URL.Path {
		case "/read":
			_ = rc.SetReadDeadline(time.Now().Add(time.Hour))
			time.AfterFunc(time.Millisecond, func() { _ = rc.SetReadDeadline(time.Now()) })
			_, err := r.Body.Read(make([]byte, 1))
			errs <- err
		case "/write":
			_ = rc.SetWriteDeadline(time.Now().Add(time.Hour))
			time.AfterFunc(time.Millisecond, func() { _ = rc.SetWriteDeadline(time.Unix(1, 0)) })
			_, err := w.Write(make([]byte, 1<<20))
			errs <- errors.Join(err, r.Context().Err())
		case "/rest":
			_ = rc.SetWriteDeadline(time.Now().Add(time.Millisecond))
			_, err := w.Write(make([]byte, 100))
			errs <- err
		}
	}))
	_, addr := serving(t, c)
	h := dialled(t, addr, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	h.begin(false, pseudo(http.MethodPost, "/read")...)
	if err := <-errs; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read ended with %v", err)
	}
	h.until("1 reset NO_ERROR")
	h.begin(true, pseudo(http.MethodGet, "/write")...)
	if err := <-errs; !errors.Is(err, context.Canceled) {
		t.Errorf("a write ended with %v", err)
	}
	h.until("3 reset INTERNAL_ERROR")
	h.begin(true, pseudo(http.MethodGet, "/rest")...)
	if err := <-errs; err != nil {
		t.Errorf("what is held back gave %v", err)
	}
	h.until("5 reset INTERNAL_ERROR")
}

// TestAResetEndsTheRequest: a client that takes its request back ends the request's
// context, its reads and its writes.
func TestAResetEndsTheRequest(t *testing.T) {
	errs := make(chan error, 4)
	c := limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		switch r.URL.Path {
		case "/read":
			_, err := io.ReadAll(r.Body)
			errs <- err
		case "/write":
			_, err := w.Write(make([]byte, 1<<20))
			errs <- err
		case "/wait":
			<-r.Context().Done()
			errs <- r.Context().Err()
		}
	}))
	_, addr := serving(t, c)
	h := dialled(t, addr)
	for _, path := range []string{"/read", "/write", "/wait"} {
		s := h.begin(false, pseudo(http.MethodPost, path)...)
		h.until(fmt.Sprint(s, " head"))
		h.must(0, h.WriteRSTStream(s, http2.ErrCodeCancel))
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("%s ended with %v", path, err)
		}
	}
	for _, path := range []string{"/read", "/write", "/wait"} {
		h.begin(false, pseudo(http.MethodPost, path)...)
	}
	h.until("11 head")
	_ = h.Close()
	for range 3 {
		if err := <-errs; err == nil {
			t.Error("a request went on without its client")
		}
	}
}

// TestSettingsComeFirst has a connection leave that nobody serves yet: without the
// settings in front a client takes what it reads for no HTTP/2, and its request is lost.
func TestSettingsComeFirst(t *testing.T) {
	s := New(limits(http.HandlerFunc(ways)))
	defer s.Shutdown(context.Background())
	here, there := net.Pipe()
	c := newConn(s, there, nil, nothing{})
	c.leave()
	var serving sync.WaitGroup
	serving.Go(c.serve)
	defer serving.Wait()
	defer here.Close()
	if f, err := http2.NewFramer(nil, here).ReadFrame(); err != nil || f.Header().Type != http2.FrameSettings {
		t.Errorf("the first frame is %v, %v", f, err)
	}
}

// TestLeavingIsSaidLast: a client that begins nothing more hears of the end when its streams
// have ended, and is asked nothing then. Python's h2 loses the last of a response that comes
// together with GOAWAY and a PING, and all that comes later.
func TestLeavingIsSaidLast(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	end := sync.OnceFunc(func() { close(goOn) })
	s, addr := serving(t, limits(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-goOn
		ways(w, r)
	})))
	t.Cleanup(end)
	h := dialled(t, addr)
	h.begin(true, pseudo(http.MethodGet, "/short")...)
	<-begun
	s.Leave()
	end()
	ended, left := false, false
	for {
		f, err := h.ReadFrame()
		if err != nil {
			break
		}
		switch f := f.(type) {
		case *http2.DataFrame:
			ended = ended || f.StreamEnded()
		case *http2.GoAwayFrame:
			left = true
		case *http2.PingFrame:
			t.Error("the client is asked whether it has heard")
		}
		if left && !ended {
			t.Error("GOAWAY comes before the response has ended")
		}
	}
	if !ended || !left {
		t.Errorf("the response ended: %v; GOAWAY came: %v", ended, left)
	}
}

// TestNoRequestIsLost has clients ask all the time while servers end: each request has its
// response, as far as the client was not told that it was not begun.
func TestNoRequestIsLost(t *testing.T) {
	var addr atomic.Pointer[string]
	c := goClient(t)
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	first, at := serving(t, limits(http.HandlerFunc(ways)))
	addr.Store(&at)
	var served atomic.Int64
	more := notify.New()
	for range 8 {
		asking.Go(func() {
			for ctx.Err() == nil {
				resp, err := c.Get("http://" + *addr.Load() + "/short")
				if err != nil {
					t.Error(err)
					return
				}
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil {
					t.Error(err)
				}
				served.Add(1)
				more.Notify()
			}
		})
	}
	await := func(n int64) {
		for end := served.Load() + n; served.Load() < end && !t.Failed(); {
			<-more
		}
	}
	for range 5 {
		await(200)
		next, nextAt := serving(t, limits(http.HandlerFunc(ways)))
		addr.Store(&nextAt)
		await(20) // some had the old address
		first.Leave()
		first = next
	}
	cancel()
	asking.Wait()
}
