package front

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

func fails(code whittle.Code) error { return whittle.Errorf(code, "as the test says") }

// eventOf makes an event with an id.
func eventOf(id string) string {
	return fmt.Sprintf(`{"type":"track","event":"e","userId":"u","messageId":%q}`, id)
}

func batchOf(events ...string) string { return `{"batch":[` + strings.Join(events, ",") + `]}` }

func TestOneEventsOutcomes(t *testing.T) {
	for _, c := range []struct {
		err    error
		code   int
		status string
		retry  bool
	}{
		{nil, 200, "accepted", false},
		{fails(whittle.Invalid), 400, "rejected", false},
		{fails(whittle.ResourceExhausted), 429, "unavailable", true},
		{fails(whittle.Unavailable), 503, "unavailable", true},
		{fails(whittle.DeadlineExceeded), 504, "unknown", true},
		{fails(whittle.Canceled), 503, "unknown", true},
		{fails(whittle.Internal), 503, "unknown", true},
		{errors.New("an error without a code"), 503, "unknown", true},
	} {
		s := serve(t, nil)
		s.stream.fate = func(n int, _ *stream.Record) error {
			if n == 0 {
				return c.err
			}
			return nil
		}
		a := s.post("/v1/track", track)
		if a.code != c.code || a.Status != c.status || a.Success != (c.code == 200) || (a.header.Get("Retry-After") != "") != c.retry || a.MessageID != "m1" {
			t.Errorf("%v: %d %s", c.err, a.code, a.text)
		}
		if (a.Position != "") != (c.code == 200) || (a.Durability != "") != (c.code == 200) || strings.Contains(a.text, "as the test says") {
			t.Errorf("%v: %s", c.err, a.text)
		}
		again := s.post("/v1/track", track)
		want := "accepted"
		if c.err == nil {
			want = "duplicate"
		}
		if again.code != 200 || again.Status != want || again.Position != "0/0" {
			t.Errorf("again after %v: %d %s", c.err, again.code, again.text)
		}
	}
}

// What else is rejected is in the corpus.
func TestAnEventLargerThanTheStreamTakes(t *testing.T) {
	s := serve(t, nil)
	s.stream.limit = 2000
	if a := s.post("/v1/track", strings.Replace(track, "Bought", strings.Repeat("B", 3000), 1)); a.code != 413 || a.Status != "rejected" {
		t.Errorf("%d %s", a.code, a.text)
	}
	fatal.Same(t, len(s.stream.records()), 0, "records were kept")
}

func TestMixedBatches(t *testing.T) {
	for _, c := range []struct {
		name, events                             string // each good, bad, or the name of a code
		code                                     int
		status                                   string
		accepted, rejected, unavailable, unknown int
	}{
		{"all good", "good good", 200, "accepted", 2, 0, 0, 0},
		{"one bad", "good bad good", 400, "rejected", 2, 1, 0, 0},
		{"one for lack of room", "good bad resource_exhausted", 429, "unavailable", 1, 1, 1, 0},
		{"two reasons to come back", "resource_exhausted unavailable", 503, "unavailable", 0, 0, 2, 0},
		{"one unknown", "good bad deadline_exceeded", 504, "unknown", 1, 1, 0, 1},
		{"unknown and not kept", "deadline_exceeded unavailable", 503, "unknown", 0, 0, 1, 1},
		{"unknown in two ways", "deadline_exceeded internal", 503, "unknown", 0, 0, 0, 2},
	} {
		s := serve(t, nil)
		s.stream.fate = func(_ int, r *stream.Record) error {
			for code := whittle.Internal; code <= whittle.FallsShort; code++ {
				if strings.HasPrefix(r.ID, code.String()) {
					return fails(code)
				}
			}
			return nil
		}
		events := strings.Fields(c.events)
		for i, kind := range events {
			if events[i] = eventOf(fmt.Sprintf("%s-%d", kind, i)); kind == "bad" {
				events[i] = `{"type":"nonsense"}`
			}
		}
		a := s.post("/v1/batch", batchOf(events...))
		if a.Accepted != c.accepted || a.Rejected != c.rejected || a.Unavailable != c.unavailable || a.Unknown != c.unknown {
			t.Errorf("%s: %s", c.name, a.text)
		}
		if a.code != c.code || a.Status != c.status || a.Success != (c.code == 200) || len(a.Results) != len(events) {
			t.Errorf("%s: %d %s", c.name, a.code, a.text)
		}
		s.stream.setFate(nil)
		// What a client does upon 429 and 5xx: all again. Nothing is doubled.
		again := s.post("/v1/batch", batchOf(events...))
		if again.Accepted+again.Duplicate+again.Rejected != len(events) || again.Duplicate != c.accepted {
			t.Errorf("%s, again: %s", c.name, again.text)
		}
		fatal.Same(t, len(s.stream.records()), len(events)-c.rejected, "records of %s", c.name)
	}
}

func TestABatchWithTheSameEventTwice(t *testing.T) {
	s := serve(t, nil)
	a := s.post("/v1/batch", batchOf(eventOf("a"), eventOf("b"), eventOf("a")))
	if a.code != 200 || a.Accepted != 2 || a.Duplicate != 1 || a.Results[2].Position != a.Results[0].Position {
		t.Errorf("%d %s", a.code, a.text)
	}
	s.stream.fate = func(n int, _ *stream.Record) error {
		if n == 2 {
			return fails(whittle.Unavailable)
		}
		return nil
	}
	// The first copy fails and gives its id up, so the second is tried.
	if a := s.post("/v1/batch", batchOf(eventOf("c"), eventOf("c"))); a.code != 503 || a.Unavailable != 1 || a.Accepted != 1 {
		t.Errorf("%d %s", a.code, a.text)
	}
}

// A long batch's response lists what was not kept, with its place, and no more than 20.
func TestResultsOfALongBatch(t *testing.T) {
	s := serve(t, nil)
	var events []string
	for i := range 60 {
		e := eventOf(fmt.Sprint(i))
		if i == 30 || i == 31 {
			e = `{"type":"nonsense"}`
		}
		events = append(events, e)
	}
	a := s.post("/v1/batch", batchOf(events...))
	if a.code != 400 || a.Accepted != 58 || len(a.Results) != 2 {
		t.Fatalf("%d %s", a.code, a.text)
	}
	for i, r := range a.Results {
		if r.Status != "rejected" || r.Index != 30+i || r.Reason == "" {
			t.Errorf("%+v", r)
		}
	}
	if a := s.post("/v1/batch", batchOf(slices.Repeat([]string{`{"type":"nonsense"}`}, 60)...)); a.Rejected != 60 || len(a.Results) != maxResults {
		t.Errorf("%d %s", a.code, a.text)
	}
	if a := s.post("/v1/batch?results=each", batchOf(events...)); len(a.Results) != 60 || a.Results[40].MessageID != "40" || a.Results[40].Status != "duplicate" {
		t.Errorf("each: %s", a.text)
	}
}

func TestAppendThatTakesTooLong(t *testing.T) {
	s := serve(t, func(o *Options) {
		o.Limits.Append = 20 * time.Millisecond
		d := newDouble()
		d.gate = make(chan struct{})
		d.fate = func(int, *stream.Record) error { return fails(whittle.DeadlineExceeded) }
		o.Stream = d
	})
	if a := s.post("/v1/track", track); a.code != 504 || a.Status != "unknown" {
		t.Errorf("%d %s", a.code, a.text)
	}
}

func TestSlowBodies(t *testing.T) {
	s := serve(t, func(o *Options) {
		// The header that is whole must not be late on a busy machine.
		o.Limits.Header, o.Limits.Body = 2*time.Second, 50*time.Millisecond
	})
	var both sync.WaitGroup
	both.Go(func() {
		got := s.hang("POST /import HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
		if !strings.HasPrefix(got, "HTTP/1.1 408 ") || !strings.Contains(got, "Connection: close") || !strings.Contains(got, `"status":"unavailable"`) {
			t.Errorf("a slow body: %q", got)
		}
	})
	both.Go(func() {
		if got := s.hang("POST /import HTTP/1.1\r\nHos"); strings.Contains(got, " 200 ") {
			t.Errorf("a slow header: %q", got)
		}
	})
	both.Wait()
	fatal.Same(t, s.front.appendBytes.Load(), 0, "bytes are still held")
}

const callers = 20

// overload has all callers send imports of 10,000 bytes each, of which five may be held, to a stream
// that waits for its gate.
func overload(t *testing.T, holds bool, wait time.Duration) (*testFront, <-chan result) {
	t.Helper()
	s := serve(t, func(o *Options) {
		d := newDouble()
		d.holds, d.gate = holds, make(chan struct{})
		o.Stream = d
		o.Limits = Limits{
			Event:  event.Limits{Event: 10_000, Batch: 10_000, Merged: 10_000},
			Import: 10_000, InFlight: 50_000, Wait: wait,
		}
	})
	responses := make(chan result)
	for i := range callers {
		go func() { responses <- s.post("/import", strings.Repeat(string(rune('a'+i)), 10_000)) }()
	}
	return s, responses
}

// TestCopiedIsNotHeld: what the stream has copied is not held while it is waited for,
// so that more can wait than may be held.
func TestCopiedIsNotHeld(t *testing.T) {
	s, responses := overload(t, false, time.Minute)
	for s.stream.decided() < callers {
		runtime.Gosched()
	}
	close(s.stream.gate)
	for range callers {
		if a := <-responses; a.code != 200 {
			t.Errorf("%d %s", a.code, a.text)
		}
	}
	kept := map[string]bool{}
	for _, r := range s.stream.records() {
		kept[string(r.Value)] = len(r.Value) == 10_000 && strings.Count(string(r.Value), string(r.Value[:1])) == 10_000
	}
	for i := range callers {
		if !kept[strings.Repeat(string(rune('a'+i)), 10_000)] {
			t.Errorf("the body of %c is not kept as it was", 'a'+i)
		}
	}
}

// TestInFlightIsBounded holds the stream while more is sent than may be held:
// what does not fit is refused, and the rest is kept.
func TestInFlightIsBounded(t *testing.T) {
	s, responses := overload(t, true, 10*time.Millisecond)
	// Nothing is kept while the gate is closed, so the first responses are those
	// of requests that found no room.
	busy := 0
	for range callers - 4 {
		a := <-responses
		if a.code != 429 || a.header.Get("Retry-After") == "" {
			t.Errorf("%d %s", a.code, a.text)
		}
		busy++
	}
	close(s.stream.gate)
	for range 4 {
		if a := <-responses; a.code == 429 {
			busy++
		} else if a.code != 200 {
			t.Errorf("%d %s", a.code, a.text)
		}
	}
	if kept := len(s.stream.records()); kept != callers-busy || kept == 0 {
		t.Errorf("%d kept, %d sent away of %d", kept, busy, callers)
	}
	if s.front.appendBytes.Load() != 0 || !s.front.memory.TryAcquire(s.front.limits.InFlight) {
		t.Error("something is still held")
	}
}

func TestRetryAfter(t *testing.T) {
	d := newDouble()
	f, err := New(Options{Stream: d})
	fatal.If(t, err)
	for _, c := range []struct {
		capacity stream.Capacity
		need     int64
		want     int
	}{
		{stream.Capacity{Free: 0, Rate: 0}, 1000, retryUnknown},
		{stream.Capacity{Free: 0, Rate: 10_000}, 25_000 - slack, 3},
		{stream.Capacity{Free: 20_000, Rate: 10_000}, 25_000 - slack, retryMin},
		{stream.Capacity{Free: 1 << 30, Rate: 10_000}, 1000, retryMin},
		{stream.Capacity{Free: 0, Rate: 1}, 1 << 40, retryMax},
		{stream.Capacity{Free: -1 << 62, Rate: 1e-300}, 1 << 40, retryMax},
	} {
		d.setCapacity(c.capacity)
		fatal.Same(t, f.retryAfter(c.need), c.want, "%+v for %d", c.capacity, c.need)
	}
}

// TestAcceptedIsKept is the promise: whatever is sent from many connections,
// over a stream that fails at random, every event that was acknowledged accepted is
// in the stream exactly once, byte for byte, with the id and at the position
// that the response named; and what was acknowledged duplicate is there too.
func TestAcceptedIsKept(t *testing.T) {
	s := serve(t, func(o *Options) { o.Metrics = prometheus.NewRegistry() })
	codes := []whittle.Code{whittle.ResourceExhausted, whittle.Unavailable, whittle.Invalid, whittle.DeadlineExceeded}
	s.stream.fate = func(n int, _ *stream.Record) error {
		if n%7 == 3 {
			return fails(codes[n%len(codes)])
		}
		return nil
	}
	type receipt struct{ id, status, position string }
	var mu sync.Mutex // guards the following
	var receipts []receipt
	bodies := map[string]string{}
	var senders sync.WaitGroup
	for sender := range 8 {
		senders.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(sender)))
			for n := range 60 {
				id := fmt.Sprintf("%d-%d", random.IntN(4), random.IntN(100))
				if random.IntN(2) == 0 {
					raw := make([]byte, 1+random.IntN(3000))
					for i := range raw {
						raw[i] = byte(random.Uint32())
					}
					id = fmt.Sprintf("raw-%d-%d", sender, n)
					a := s.send(http.MethodPost, "/import", bytes.NewReader(raw), "Idempotency-Key: "+id)
					mu.Lock()
					receipts = append(receipts, receipt{id, a.Status, a.Position})
					bodies[id] = string(raw)
					mu.Unlock()
					continue
				}
				var events, ids []string
				for range 1 + random.IntN(5) {
					ids = append(ids, fmt.Sprintf("%s-%d", id, random.IntN(3)))
					events = append(events, eventOf(ids[len(ids)-1]))
				}
				a := s.post("/v1/batch", batchOf(events...))
				mu.Lock()
				for i, r := range a.Results {
					receipts = append(receipts, receipt{ids[i], r.Status, r.Position})
				}
				mu.Unlock()
			}
		})
	}
	senders.Wait()
	records, reported := s.stream.records(), 0
	kept, taken := map[string]int{}, map[string]int{}
	for _, r := range records {
		kept[r.ID]++
	}
	for _, r := range receipts {
		if r.status != "accepted" && r.status != "duplicate" {
			continue
		}
		reported++
		if r.status == "accepted" {
			taken[r.id]++
		}
		var n int
		if _, err := fmt.Sscanf(r.position, "0/%d", &n); err != nil || n >= len(records) || records[n].ID != r.id || !records[n].Intact() {
			t.Fatalf("%+v, and it is not there as it was sealed", r)
		}
		if body, raw := bodies[r.id]; raw && string(records[n].Value) != body {
			t.Fatalf("%s is not what was sent", r.id)
		}
	}
	for id, n := range kept {
		if n != 1 || taken[id] != 1 {
			t.Errorf("%s: %d times accepted, %d times kept", id, taken[id], n)
		}
	}
	if reported < 500 {
		t.Fatalf("%d events were kept: too few to say anything", reported)
	}
	if n := testutil.ToFloat64(s.front.metrics.events[accepted]); int(n) != len(records) {
		t.Errorf("the metric says %.0f accepted, %d are kept", n, len(records))
	}
}
