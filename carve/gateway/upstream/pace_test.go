package upstream

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

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

// A response that is not long is read at once.
func TestShortAsideIsNotPaced(t *testing.T) {
	p := &pace{from: time.Now()}
	p.add(time.Now(), time.Hour)
	r := paced{ctx: t.Context(), pace: p}
	if err := r.did(int(stretch-pieceWork)-1, 1); err != nil || r.waits != 0 {
		t.Errorf("waited %v, %v", r.waits, err)
	}
}

// Whoever would have to wait beyond the call's end gives it up, and not as the
// upstream's failure.
func TestPacedBeyondItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{from: time.Now()}
		p.add(time.Now(), time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r := paced{ctx: ctx, pace: p}
		if err := r.did(int(stretch), 1); !errors.Is(err, errNoSpare) {
			t.Errorf("got %v", err)
		}
	})
}
