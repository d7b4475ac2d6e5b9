package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/internal/rawtest"
)

// age makes the pool's idle connections look unused for d.
func (p *pool) age(d time.Duration) (idle int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		c.idleSince = c.idleSince.Add(-d)
	}
	return len(p.idle)
}

// TestOnlyOnceGoesOverTrustedConnections: a request that cannot be repeated
// does not meet an upstream that is about to close an idle connection, and one
// that can be repeated does not pay for that.
func TestOnlyOnceGoesOverTrustedConnections(t *testing.T) {
	var conns atomic.Int64
	at := rawtest.Serve(t, func(c net.Conn, _ int) {
		conns.Add(1)
		for r := bufio.NewReader(c); ; {
			if _, err := http.ReadRequest(r); err != nil {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(at, "http://"))
	}
	p := newPool(dial, &slots{limit: 8, wait: time.Second}, patienceOf(&whittle.Upstream{}))
	t.Cleanup(p.close)
	const justNow = -time.Minute // however long the machine stood since
	for i, step := range []struct {
		again bool
		age   time.Duration
		conns int64
	}{
		{again: false, conns: 1},
		{again: false, age: justNow, conns: 1},
		{again: true, age: 10 * trusted, conns: 1},
		{again: false, age: 2 * trusted, conns: 2},
		{again: false, age: justNow, conns: 2},
		{again: false, age: 2 * trusted, conns: 3},
		{again: true, age: 2 * trusted, conns: 3},
	} {
		p.age(step.age)
		p.slots.taken++
		c, err := p.do(context.Background(), &leanCall{
			request: []byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
			method:  http.MethodPost, again: step.again, limit: 10 * time.Second,
		})
		fatal.If(t, err)
		c.finish()
		fatal.Same(t, conns.Load(), step.conns, "step %d: connections", i)
		fatal.Same(t, p.age(0), 1, "step %d: idle connections: the new one takes the oldest's place", i)
	}
}

// TestSlotsAreNeverOverdrawnOrLost: however many come, wait, give up and go, no more
// hold one than there are, and all are free in the end.
func TestSlotsAreNeverOverdrawnOrLost(t *testing.T) {
	s := &slots{limit: 3, wait: time.Millisecond}
	var holding, served atomic.Int64
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for n := range 200 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%3 == 0 {
					cancel()
				}
				if s.acquire(ctx, i%4 == 0) == nil {
					if holding.Add(1) > 3 {
						t.Error("more than three hold one")
					}
					served.Add(1)
					holding.Add(-1)
					s.release()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if s.taken != 0 || s.queue.Len() != 0 || served.Load() == 0 {
		t.Errorf("in the end %d are taken and %d wait, %d were served", s.taken, s.queue.Len(), served.Load())
	}
}

// TestSlotsAreWaitedFor: a user has the slot of whoever goes, and one of an upstream that turns
// out to speak HTTP/2, which keeps nobody waiting.
func TestSlotsAreWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slots{limit: 1, wait: time.Hour}
		fatal.If(t, s.acquire(t.Context(), false))
		if err := s.acquire(t.Context(), true); !errors.Is(err, errNoSpare) {
			t.Errorf("aside: %v", err)
		}
		for _, comes := range []func(){s.release, s.share} {
			waited := make(chan error, 1)
			go func() { waited <- s.acquire(t.Context(), false) }()
			time.Sleep(time.Hour - 1)
			if len(waited) > 0 {
				t.Error("nobody has waited")
			}
			comes()
			if err := <-waited; err != nil {
				t.Error(err)
			}
		}
		s.release()
		s.release()
		fatal.Same(t, s.taken, 0, "taken")
	})
}

// However many responses are read aside at once, together they take no more than their
// part of the time.
func TestAsideReadersSharePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const readers, chunks, size = 16, 1 << 14, 4
		p := &pace{from: time.Now()}
		begun := time.Now()
		var wg sync.WaitGroup
		for range readers {
			wg.Go(func() {
				r := paced{ctx: t.Context(), pace: p}
				for range chunks {
					if err := r.did(size, 1); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		work := readers * chunks * (size*time.Nanosecond + pieceWork)
		if took, least := time.Since(begun), work-ahead-readers*stretch; took < least {
			t.Errorf("%d floods were read in %v of the bubble's time, in which nothing takes any; want at least %v", readers, took, least)
		}
	})
}

// A response that is not long is read at once. Whoever would have to wait beyond the call's end
// gives it up, and not as the upstream's failure.
func TestPacedBeyondItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{from: time.Now()}
		p.add(time.Now(), time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := paced{ctx: ctx, pace: p}
		if err := r.did(int(stretch-pieceWork)-1, 1); err != nil || r.waits != 0 {
			t.Errorf("waited %v, %v", r.waits, err)
		}
		if err := r.did(int(stretch), 1); !errors.Is(err, errNoSpare) {
			t.Errorf("got %v", err)
		}
	})
}
