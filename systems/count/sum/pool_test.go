package sum

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testPool(t *testing.T, o Options) *Pool {
	t.Helper()
	if o.Seed == nil {
		o.Seed = testSeed
	}
	p := New(o)
	t.Cleanup(p.Close)
	return p
}

func TestCountDrawsExactlyAsManyAsAsked(t *testing.T) {
	for _, times := range []int32{1, 2, 3, 15, 16, 17, 99, 100, 101, 1000, 12345} {
		p := testPool(t, Options{Workers: 1, Chunk: 100})
		got, err := p.Count(t.Context(), times)
		fatal.If(t, err)
		g := newGenerator(testSeed(0))
		var want int64
		for left := int(times); left > 0; left -= 100 {
			want += int64(g.draw(min(left, 100)))
		}
		fatal.Same(t, got, want, "Count(%d)", times)
		if _, drawn := p.Load(); drawn != uint64(times) {
			t.Errorf("Count(%d) made %d draws", times, drawn)
		}
	}
}

func TestCountRefusesBelowZeroAndDrawsNothingForZero(t *testing.T) {
	p := testPool(t, Options{})
	if got, err := p.Count(t.Context(), 0); got != 0 || err != nil {
		t.Errorf("Count(0) = %d, %v, want 0", got, err)
	}
	for _, times := range []int32{-1, -5, math.MinInt32} {
		_, err := p.Count(t.Context(), times)
		whittletest.Refused(t, err, whittle.Invalid, "so many times")
	}
	if _, drawn := p.Load(); drawn != 0 {
		t.Errorf("%d draws were made for nothing", drawn)
	}
}

// TestTurns: a request that comes after a giant has its turn next to it. Of a giant that is given
// up midway at most the chunks then in hand are drawn for nothing.
func TestTurns(t *testing.T) {
	p := testPool(t, Options{Workers: 1, Chunk: 1000})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := p.Count(ctx, math.MaxInt32); ended <- err }()
	for drawn := uint64(0); drawn == 0; _, drawn = p.Load() {
		runtime.Gosched()
	}
	for range 100 {
		if _, err := p.Count(t.Context(), 1500); err != nil {
			t.Error(err)
		}
	}
	if active, drawn := p.Load(); active != 1 || drawn >= math.MaxInt32 {
		t.Errorf("%d active, %d drawn: the giant went first", active, drawn)
	}
	cancel()
	if err := <-ended; whittle.CodeOf(err) != whittle.Canceled {
		t.Errorf("%v, want canceled", err)
	}
	p.Close()
	if active, drawn := p.Load(); active != 0 || drawn >= math.MaxInt32 {
		t.Errorf("%d active, %d drawn: the giant was not given up", active, drawn)
	}
}

// stalled is a pool whose one generator is with somebody else until release.
func stalled(o Options) (p *Pool, release func()) {
	o.Workers, o.Seed = 1, testSeed
	p = New(o)
	g := <-p.generators
	return p, sync.OnceFunc(func() { p.generators <- g })
}

func TestCountIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stalled(Options{MaxActive: 2})
		var done sync.WaitGroup
		for range 2 {
			done.Go(func() {
				if _, err := p.Count(t.Context(), 10); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		_, err := p.Count(t.Context(), 10)
		var coded *whittle.Error
		if !errors.As(err, &coded) || coded.Code != whittle.ResourceExhausted || coded.Hint == "" {
			t.Errorf("third request: %v, want resource_exhausted with a hint", err)
		}
		release()
		done.Wait()
		if _, err := p.Count(t.Context(), 10); err != nil {
			t.Errorf("after the others: %v", err)
		}
		p.Close()
	})
}

func TestCountStopsWithItsContext(t *testing.T) {
	cause := whittle.Errorf(whittle.Unavailable, "closing down")
	for _, c := range []struct {
		name string
		end  func(context.Context) (context.Context, context.CancelFunc)
		want whittle.Code
	}{
		{"client gone", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Second, cancel)
			return ctx, cancel
		}, whittle.Canceled},
		{"deadline", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, whittle.DeadlineExceeded},
		{"coded cause", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(time.Second, func() { cancel(cause) })
			return ctx, func() { cancel(nil) }
		}, whittle.Unavailable},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, release := stalled(Options{})
				defer p.Close()
				defer release()
				ctx, cancel := c.end(t.Context())
				defer cancel()
				_, err := p.Count(ctx, math.MaxInt32)
				whittletest.Refused(t, err, c.want, "")
				_, err = p.Count(ctx, 1)
				whittletest.Refused(t, err, c.want, "after the end")
				release()
				// All that was left of the giant is dropped, so the next one
				// has the worker for itself.
				if _, err := p.Count(t.Context(), 7); err != nil {
					t.Error(err)
				}
				if active, drawn := p.Load(); active != 0 || drawn != 7 {
					t.Errorf("%d active, %d drawn, want 0 and 7", active, drawn)
				}
			})
		})
	}
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, release := stalled(Options{})
		ended := make(chan error, 1)
		go func() { _, err := p.Count(t.Context(), math.MaxInt32); ended <- err }()
		synctest.Wait()
		go release()
		p.Close()
		if err := <-ended; err == nil || whittle.CodeOf(err) != whittle.Unavailable {
			t.Errorf("under way: %v, want unavailable", err)
		}
		_, err := p.Count(t.Context(), 1)
		whittletest.Refused(t, err, whittle.Unavailable, "after the close")
		p.Close()
	})
}

// TestManyAtOnce mixes requests that finish with requests that are given up.
func TestManyAtOnce(t *testing.T) {
	p := testPool(t, Options{Workers: 4, Chunk: 64})
	var done sync.WaitGroup
	for i := range 200 {
		done.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%3 == 0 {
				go cancel()
			}
			times := int32(i * 37)
			got, err := p.Count(ctx, times)
			switch {
			case err != nil && (i%3 != 0 || whittle.CodeOf(err) != whittle.Canceled):
				t.Errorf("request %d: %v", i, err)
			case err == nil && (got < 0 || got > 100*int64(times)):
				t.Errorf("Count(%d) = %d", times, got)
			}
		})
	}
	done.Wait()
	if active, _ := p.Load(); active != 0 {
		t.Errorf("%d still active", active)
	}
}
