package embedded

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
	bounds "whittle/systems/ingest/event"
	"whittle/systems/ingest/front"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/relay"
	"whittle/systems/ingest/stream/streamtest"
)

// TestADrainedLogNeverFills puts a front and a relay over a log whose disk holds
// far less than the age that drained events are kept for. The sink is healthy,
// so every event is taken, many times the disk over, and what young events the
// disk has room for stays.
func TestADrainedLogNeverFills(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const segments = 16
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		disk.capacity = segments * 64 << 10
		o := onFakeDisk(disk)
		o.Held = true
		local := opened(t, "", o)
		far := func() *Log {
			o := onFakeDisk(newFakeDisk(rand.New(rand.NewPCG(2, 0))))
			o.MaxRecord, o.SegmentBytes = 16<<10, 256<<10
			return opened(t, "", o)
		}
		r, err := relay.Open(local, far(), relay.Options{Dir: t.TempDir(), Refused: far(), Keep: true, Low: 4 * 64 << 10})
		fatal.If(t, err)
		defer r.Close(t.Context())
		f, err := front.New(front.Options{Stream: r, Limits: front.Limits{Import: 4 << 10, Event: bounds.Limits{Event: 4 << 10}}})
		fatal.If(t, err)
		body := strings.Repeat("x", 3000)
		const events = 10 * segments * 64 / 4
		least := uint64(events)
		for n := range events {
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/import", strings.NewReader(body))
			req.Header.Set("Content-Type", "text/plain")
			response := httptest.NewRecorder()
			f.ServeHTTP(response, req)
			if response.Code != http.StatusOK || f.Ready() != nil {
				t.Fatalf("event %d of %d: %d %s; ready: %v; room %+v, drain %+v", n, events, response.Code, response.Body, f.Ready(), r.Capacity(), r.Status())
			}
			if first, next := span(t, local); n > events/2 {
				least = min(least, next-first)
			}
			time.Sleep(50 * time.Millisecond) // 20 events a save
		}
		if most := uint64(segments * 64 / 4); least < most/3 {
			t.Errorf("the log was cut down to %d events, and its disk has room for %d", least, most)
		}
		if s := r.Status(); len(s.Troubles) != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestCapacityCountsTheSpare: the segment that is made beforehand takes its space
// from the disk, and is room all the same.
func TestCapacityCountsTheSpare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newFakeDisk(rand.New(rand.NewPCG(1, 0)))
		disk.capacity = 4 * 64 << 10
		l := openAt(t, "", onFakeDisk(disk))
		const size = 3584 // of a batch with the record
		for n := 0; ; n++ {
			before := l.Capacity().Free
			if r := l.Append(t.Context(), []stream.Record{record(fmt.Sprint(n), make([]byte, 3000))}); r[0].Err != nil {
				if n < 4*64<<10/size-4 || before >= 2*size {
					t.Errorf("append %d: %v; there was room for %d", n, r[0].Err, before)
				}
				return
			}
			time.Sleep(time.Second) // the disk is asked again
			if capacity := l.Capacity(); capacity.Free > before || capacity.Free < before-2*size {
				t.Fatalf("append %d: room for %d, and before it for %d", n, capacity.Free, before)
			}
		}
	})
}

// TestUnreadableIsNotUnwritten has sectors that the disk does not give back when
// a log is opened. Where acknowledged records may lie in
// them the log does not open, says so and changes nothing; elsewhere it opens.
// Either way no record that can be read is lost and no offset is used again, and
// when the disk gives them back all is there.
func TestUnreadableIsNotUnwritten(t *testing.T) {
	killed, ids := written(t)
	closed := copied(killed)
	l := opened(t, "", onFakeDisk(closed))
	closing(t, l)
	killedOpened, killedFailed := openUnread(t, killed, ids)
	closedOpened, closedFailed := openUnread(t, closed, ids)
	if killedOpened < 1 || killedFailed < 20 || closedOpened < 3 || closedFailed < 20 {
		t.Errorf("of a killed log %d opened and %d did not, of a closed one %d and %d",
			killedOpened, killedFailed, closedOpened, closedFailed)
	}
}

// openUnread opens copies of a disk whose sectors cannot be read, in turn.
func openUnread(t *testing.T, disk *fakeDisk, ids []string) (opens, failed int) {
	name := segmentName(0)
	end := used(t, disk, name)
	try := func(from, to int64) {
		d := copied(disk)
		d.unread = map[string][2]int64{name: {from, to}}
		about := fmt.Sprintf("sectors %d to %d of %d", from/sector, to/sector, end/sector)
		l, err := Open("", onFakeDisk(d))
		if err != nil {
			failed++
			if e, ok := err.(*whittle.Error); whittle.CodeOf(err) != whittle.Unavailable || !ok || e.Hint == "" { //nolint:errorlint // not wrapped
				t.Errorf("%s: %v", about, err)
			}
			if !maps.EqualFunc(d.seen, disk.seen, func(a, b *fakeFile) bool { return bytes.Equal(a.seen, b.seen) }) {
				t.Errorf("%s: the log did not open, and its files are others", about)
			}
		} else {
			opens++
			if _, next := span(t, l); next != uint64(len(ids)) {
				t.Errorf("%s: the log ends at %d", about, next)
			}
			streamtest.Keep(t, l, record("after", nil))
			closing(t, l)
		}
		d.unread = nil
		l = opened(t, "", onFakeDisk(d))
		defer closing(t, l)
		if got := readIDs(t, l); len(got) < len(ids) || !slices.Equal(got[:len(ids)], ids) {
			t.Errorf("%s: when they can be read again: %v", about, got)
		}
	}
	for from := int64(0); from < end+3*sector; from += sector {
		for _, n := range []int64{1, 2, 3, end / sector, 1000} {
			try(from, from+n*sector)
		}
	}
	return opens, failed
}
