package front

import (
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// stall begins so many requests whose bodies do not come, and gives their
// connections. They have all the room that they can have when it returns.
func (s *testFront) stall(n int, head string, capacity *bodyLimiter, least int64) []net.Conn {
	s.Helper()
	var all []net.Conn
	for range n {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, head); err != nil {
			s.Fatal(err)
		}
		all = append(all, c)
	}
	s.eventually("slow bodies hold what they can", func() bool {
		if !capacity.free.TryAcquire(least) {
			return true
		}
		capacity.free.Release(least)
		return false
	})
	return all
}

func (s *testFront) eventually(what string, holds func() bool) {
	s.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		if time.Now().After(deadline) {
			s.Fatalf("not within 30 s: %s", what)
		}
		<-tick.C
	}
}

const slowBody = "POST /v1/batch%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\n{\"batch\":["

// TestUnauthenticatedLeaveCapacity has many slow bodies whose writers have shown no key.
// However many they are, and however long they stay, a client that shows one is
// never refused and does not wait for them.
func TestUnauthenticatedLeaveCapacity(t *testing.T) {
	keys, err := ReadKeys(keysFile(t, "key1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, framing := range []string{"Content-Length: 200000\r\n", "Transfer-Encoding: chunked\r\n"} {
		s := serve(t, func(o *Options) {
			o.Keys = keys
			o.Limits.InFlight = 6 << 20
			o.Limits.Slow = time.Hour   // nobody is cut off
			o.Limits.Wait = time.Minute // nor turned away, while it lasts
		})
		n, text := 100, fmt.Sprintf(slowBody, "", framing)
		if strings.HasPrefix(framing, "Transfer") {
			n = 200 // which begin with less
			text = strings.Replace(text, "\r\n\r\n", "\r\n\r\n30d40\r\n", 1)
		}
		s.stall(n, text, s.front.unauthenticated, 500_000)
		for i := range 50 {
			body := batchOf(eventOf(fmt.Sprint(i)), strings.Repeat(" ", 400_000)+eventOf(fmt.Sprint("b", i)))
			if a := s.post("/v1/batch", body, "Authorization: Bearer key1"); a.code != 200 || a.Accepted != 2 {
				t.Fatalf("%s: %d %s", framing, a.code, a.text)
			}
		}
		if n := testutil.ToFloat64(s.front.metrics.cut); n != 0 {
			t.Errorf("%.0f bodies were cut off", n)
		}
	}
}

// TestSlowBodiesGiveWay has slow bodies hold all the room, from writers who need
// no key: a client that has something to send gets theirs, and is never refused.
func TestSlowBodiesGiveWay(t *testing.T) {
	s := serve(t, func(o *Options) {
		o.Limits.InFlight = 2 << 20
		o.Limits.Slow = time.Millisecond
		o.Limits.Wait = time.Minute
	})
	slow := s.stall(5, fmt.Sprintf(slowBody, "", "Content-Length: 200000\r\n"), s.front.reading, 400_000)
	// Whoever waits looks twice for the slow, a millisecond apart.
	s.eventually("all that have room are being read", func() bool {
		s.front.reading.mu.Lock()
		defer s.front.reading.mu.Unlock()
		n := 0
		for p := s.front.reading.oldest; p != nil; p = p.newer {
			n++
		}
		return n == len(slow)
	})
	for i := range 20 {
		body := batchOf(eventOf(fmt.Sprint(i)), strings.Repeat(" ", 400_000)+eventOf(fmt.Sprint("b", i)))
		if a := s.post("/v1/batch", body); a.code != 200 {
			t.Fatalf("%d %s", a.code, a.text)
		}
	}
	gone := testutil.ToFloat64(s.front.metrics.cut)
	if gone == 0 || gone == float64(len(slow)) {
		t.Errorf("%.0f of %d bodies were cut off", gone, len(slow))
	}
	// At least one of them gets the error, which says that it may try again.
	replies := make(chan string, len(slow))
	var reading sync.WaitGroup
	defer reading.Wait()
	for _, c := range slow {
		reading.Go(func() {
			back, _ := io.ReadAll(c)
			replies <- string(back)
		})
	}
	if got := <-replies; !strings.HasPrefix(got, "HTTP/1.1 429 ") || !strings.Contains(got, slowBodyReason) ||
		!strings.Contains(got, "Retry-After: ") || !strings.Contains(got, "Connection: close") {
		t.Errorf("it got %q", got)
	}
	for _, c := range slow {
		c.Close()
	}
	s.eventually("all is given back", func() bool {
		if !s.front.reading.free.TryAcquire(2 << 20) {
			return false
		}
		s.front.reading.free.Release(2 << 20)
		return true
	})
	s.front.reading.mu.Lock()
	defer s.front.reading.mu.Unlock()
	if in := s.front.reading; in.oldest != nil || in.newest != nil || in.wanted != 0 || in.shedding != 0 {
		t.Errorf("something is left: %+v", in)
	}
}

// TestWhoGivesWay looks at the order and the bounds of it, by a clock of its own.
func TestWhoGivesWay(t *testing.T) {
	now := time.Unix(1000, 0)
	var gone []string
	in := &bodyLimiter{slow: time.Second, now: func() time.Time { return now }, cut: func(p string) { gone = append(gone, p) }}
	var first, fast, second, third, young slot
	in.begin(&first, "first", 100, now)
	in.begin(&fast, "fast", 100, now)
	in.begin(&second, "second", 100, now)
	in.begin(&third, "third", 100, now)
	now = now.Add(10 * time.Second)
	in.begin(&young, "young", 100, now)
	fast.arrived.Store(10 * minBodyRate)
	first.arrived.Store(10*minBodyRate - 1)
	step := func(want ...string) {
		t.Helper()
		in.shedSlow()
		if fmt.Sprint(gone) != fmt.Sprint(want) {
			t.Errorf("%v gave way, want %v", gone, want)
		}
	}
	step()
	in.want(50)
	step("first")
	step("first") // which is on its way out
	in.want(50)
	step("first")
	in.want(1)
	step("first", "second")
	if !in.end(&first) || in.end(&fast) || in.shedding != 100 {
		t.Errorf("%d bytes are leaving", in.shedding)
	}
	in.want(1000)
	step("first", "second", "third")
	now = now.Add(time.Second)
	step("first", "second", "third", "young")
	if !in.end(&young) || !in.end(&second) || !in.end(&third) || in.oldest != nil || in.newest != nil || in.shedding != 0 {
		t.Errorf("something is left: %+v", in)
	}
}

// TestConnectionsAreBounded opens more than may be open: one more is served when
// another one has gone.
func TestConnectionsAreBounded(t *testing.T) {
	s := serve(t, func(o *Options) { o.Limits.Conns = 2 })
	const request = "POST /import HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
	responded := make(chan int, 3)
	conns := make([]net.Conn, 3)
	var reading sync.WaitGroup
	for i := range conns {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
		reading.Go(func() {
			if n, _ := io.ReadFull(c, make([]byte, 12)); n == 12 {
				responded <- i
			}
		})
	}
	first, second := <-responded, <-responded
	select {
	case third := <-responded:
		t.Errorf("%d, %d and %d are served at once", first, second, third)
	default:
	}
	conns[first].Close()
	<-responded
	for _, c := range conns {
		c.Close()
	}
	reading.Wait()
	s.eventually("all connections are forgotten", func() bool {
		s.front.peers.mu.Lock()
		defer s.front.peers.mu.Unlock()
		return len(s.front.peers.conns) == 0
	})
}
