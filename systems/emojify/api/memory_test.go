package api

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"golang.org/x/sync/semaphore"

	"whittle"
)

func TestRoomIsTakenAsBytesCome(t *testing.T) {
	const most = 1 << 20
	for name, c := range map[string]struct {
		from io.Reader
		code whittle.Code // of the error; -1: none
		want int          // bytes
	}{
		"nothing":           {strings.NewReader(""), -1, 0},
		"a little":          {iotest.OneByteReader(strings.NewReader("abc")), -1, 3},
		"with its end":      {iotest.DataErrReader(strings.NewReader("abc")), -1, 3},
		"the largest":       {iotest.HalfReader(bytes.NewReader(make([]byte, most))), -1, most},
		"one byte too many": {bytes.NewReader(make([]byte, most+1)), whittle.ResourceExhausted, 0},
		"broken off":        {iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("abc"))), whittle.Invalid, 0},
		"broken at the end": {io.MultiReader(bytes.NewReader(make([]byte, most)), iotest.ErrReader(io.ErrUnexpectedEOF)), whittle.Invalid, 0},
	} {
		r := &uploadMemory{of: semaphore.NewWeighted(most)}
		watched := &watchedReader{from: c.from, room: r, t: t}
		got, err := r.read(watched, most)
		if c.code == -1 && (err != nil || len(got) != c.want) || c.code != -1 && whittle.CodeOf(err) != c.code {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
		if int64(cap(got)) > r.taken {
			t.Errorf("%s: it takes %d bytes of memory, and %d are counted", name, cap(got), r.taken)
		}
		r.release()
		if !r.of.TryAcquire(most) {
			t.Errorf("%s: room was not given back", name)
		}
	}
}

// watchedReader holds that no more room is taken than for a quarter beyond what
// has come.
type watchedReader struct {
	from io.Reader
	room *uploadMemory
	came int64
	t    *testing.T
}

func (w *watchedReader) Read(p []byte) (int, error) {
	if bound := w.came + max(w.came/growth, firstReserve); w.room.taken > bound {
		w.t.Errorf("%d bytes have come, and room for %d is taken", w.came, w.room.taken)
	}
	n, err := w.from.Read(p)
	w.came += int64(n)
	return n, err
}

// TestACrowdStaysWithinTheRoom there is: where more send than fit, those who
// find none are refused, though they may be more than need be, and none waits
// for the others. Once they are gone, as many as fit come to their end.
func TestManySendersStayWithinTheMemory(t *testing.T) {
	const most, fit = 1 << 20, 8
	of := semaphore.NewWeighted(fit * most)
	send := func(senders int) (there, refused int64) {
		var came, away atomic.Int64
		var g sync.WaitGroup
		for range senders {
			g.Go(func() {
				r := &uploadMemory{of: of}
				_, err := r.read(iotest.HalfReader(bytes.NewReader(make([]byte, most))), most)
				switch {
				case err == nil:
					came.Add(1)
					return // it keeps its room, as a picture that waits for a worker does
				case whittle.CodeOf(err) == whittle.Unavailable:
					away.Add(1)
				default:
					t.Error(err)
				}
				r.release()
			})
		}
		g.Wait()
		return came.Load(), away.Load()
	}
	there, refused := send(3 * fit)
	if there > fit || there+refused != 3*fit {
		t.Errorf("%d came to their end and %d were refused, of %d; %d fit", there, refused, 3*fit, fit)
	}
	of.Release(there * most)
	if there, refused = send(fit); there != fit || refused != 0 {
		t.Errorf("%d came to their end and %d were refused, and all would fit", there, refused)
	}
	of.Release(there * most)
	if !of.TryAcquire(fit * most) {
		t.Error("room was not given back")
	}
}
