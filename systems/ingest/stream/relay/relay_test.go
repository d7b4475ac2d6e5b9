package relay

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// rig is a relay over doubles.
type rig struct {
	logs, sinks, deads *fakeStore
	log, sink          *fakeSink
	wrap               func(*fakeSink) stream.Stream // nil: the sink is the double
	*Relay
}

func open(t *testing.T, o Options, before ...stream.Record) *rig {
	t.Helper()
	return openOver(t, o, nil, before...)
}

func openOver(t *testing.T, o Options, wrap func(*fakeSink) stream.Stream, before ...stream.Record) *rig {
	t.Helper()
	g := &rig{logs: newFakeStore(1), sinks: newFakeStore(2), deads: newFakeStore(1), wrap: wrap}
	for _, r := range before {
		g.logs.put(r)
	}
	g.again(t, o)
	return g
}

func (g *rig) again(t *testing.T, o Options) {
	t.Helper()
	g.log, g.sink = newFakeSink(g.logs, 0, faults{}), newFakeSink(g.sinks, 0, faults{})
	o.Dead = newFakeSink(g.deads, 0, faults{})
	var sink stream.Stream = g.sink
	if g.wrap != nil {
		sink = g.wrap(g.sink)
	}
	var err error
	if g.Relay, err = Open(g.log, sink, o); err != nil {
		t.Fatal(err)
	}
}

func (g *rig) close(t *testing.T) {
	t.Helper()
	if err := g.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestAnHourOfOutage has the sink down for an hour: every append is acknowledged
// at once, the sink is asked less and less, the state says what is wrong, and
// afterwards everything arrives.
func TestAnHourOfOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Options{Limits: Limits{Window: 500}, Dir: folder(t), Keep: -1})
		mustAppend(t, g, event("k", 0))
		time.Sleep(2 * time.Second)
		g.sink.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
		asked, began := g.sink.called(), time.Now()
		n := 1
		for ; n <= 3600; n++ {
			before := time.Now()
			mustAppend(t, g, event("k", n), event(fmt.Sprint("u", n%50), n))
			if time.Since(before) != 0 || g.Capacity().Err != nil {
				t.Fatal("an append waited for the sink")
			}
			time.Sleep(time.Second)
		}
		s := g.Status()
		if len(s.Troubles) != 1 || s.Troubles[0].At != "sink" || s.Troubles[0].Since.Sub(began) > time.Minute || s.Waiting == 0 {
			t.Errorf("troubles: %+v, %d wait", s.Troubles, s.Waiting)
		}
		if s.Lag != 7200 || s.LagAge < 59*time.Minute || s.LagBytes < 7200*40 || s.LagBytes > 7200*200 || s.Records != 0 {
			t.Errorf("lag: %+v", s)
		}
		// With full jitter below 30 seconds, 8 workers ask every 15 on average.
		if calls := g.sink.called() - asked; calls > 8*(3600/15)*3/2 {
			t.Errorf("the sink was asked %d times", calls)
		}
		g.sink.setDown(nil)
		if err := g.drain.until(t.Context(), func() bool { return g.drain.win.low() == 7201 }); err != nil {
			t.Fatal(err)
		}
		if s := g.Status(); s.Lag != 0 || s.LagAge != 0 || len(s.Troubles) != 0 || s.Sent != 7201 || s.Records == 0 {
			t.Errorf("afterwards: %+v", s)
		}
		g.close(t)
		if got := counts(t, g.sinks); len(got) != 7201 {
			t.Errorf("%d records arrived", len(got))
		}
	})
}

// TestASinkThatIsDownAtTheStart keeps nobody from appending.
func TestASinkThatIsDownAtTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Options{Limits: quick(), Dir: folder(t)})
		g.sink.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
		mustAppend(t, g, event("k", 0))
		g.crash()
		g.again(t, Options{Limits: quick(), Dir: g.o.Dir})
		g.sink.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
		mustAppend(t, g, event("k", 1))
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Close(ctx); err != nil {
			t.Error(err)
		}
		g.again(t, Options{Limits: quick(), Dir: g.o.Dir})
		g.close(t)
		if got := counts(t, g.sinks); got["k.0"] != 1 || got["k.1"] != 1 {
			t.Errorf("at the sink: %v", got)
		}
	})
}

// TestOneStuckKeyHoldsNobodyElse has one key fail: the others go on, and after
// a crash only what is behind that key may be looked for.
func TestOneStuckKeyHoldsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := openOver(t, Options{Limits: quick(), Dir: folder(t)}, func(d *fakeSink) stream.Stream { return &stuckKey{d, "k3"} })
		for n := range 15 {
			for k := range 10 {
				mustAppend(t, g, event(fmt.Sprint("k", k), n))
			}
		}
		time.Sleep(5 * time.Second)
		got := counts(t, g.sinks)
		if len(got) != 9*15 {
			t.Errorf("%d records arrived while one key is stuck", len(got))
		}
		s := g.Status()
		if s.Waiting == 0 || s.Drained > 3 || len(s.Troubles) == 0 {
			t.Errorf("status: %+v", s)
		}
		g.crash()
		g.wrap = nil
		g.again(t, Options{Limits: quick(), Dir: g.o.Dir})
		g.close(t)
		for id, n := range counts(t, g.sinks) {
			if n != 1 {
				t.Errorf("%s came %d times", id, n)
			}
		}
		if got := counts(t, g.sinks); len(got) != 150 {
			t.Errorf("%d records arrived", len(got))
		}
	})
}

// TestACrashWhileRecoveringFromACrash: what was found at the sink's end is to
// be found again, although more has been acknowledged behind it.
func TestACrashWhileRecoveringFromACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := folder(t)
		g := openOver(t, Options{Limits: quick(), Dir: dir}, func(d *fakeSink) stream.Stream { return &stuckKey{d, "k"} })
		time.Sleep(1050 * time.Millisecond) // between two saves
		mustAppend(t, g, event("k", 0), event("k", 1))
		for n := range 50 { // in the same partition of the sink as k
			mustAppend(t, g, event("m", n))
		}
		synctest.Wait()
		g.crash()

		g.wrap = func(d *fakeSink) stream.Stream {
			d.faults.lag = 50 * time.Millisecond
			return d
		}
		narrow := quick()
		narrow.Window = 1
		g.again(t, Options{Limits: narrow, Dir: dir})
		if err := g.drain.until(t.Context(), func() bool { return g.drain.checkpoint.Next == 1 }); err != nil {
			t.Fatal(err)
		}
		g.crash()

		g.wrap = nil
		g.again(t, Options{Limits: quick(), Dir: dir})
		g.close(t)
		got := counts(t, g.sinks)
		if len(got) != 52 {
			t.Errorf("%d records arrived", len(got))
		}
		for id, n := range got {
			if n != 1 {
				t.Errorf("%s came %d times", id, n)
			}
		}
	})
}

type stuckKey struct {
	*fakeSink
	key string
}

func (s *stuckKey) Append(ctx context.Context, records []stream.Record) []stream.Result {
	var rest []stream.Record
	for _, r := range records {
		if r.Key != s.key {
			rest = append(rest, r)
		}
	}
	kept := s.fakeSink.Append(ctx, rest)
	results := make([]stream.Result, len(records))
	for i := range records {
		if records[i].Key == s.key {
			results[i].Err = whittle.Errorf(whittle.ResourceExhausted, "this key is throttled")
			continue
		}
		results[i], kept = kept[0], kept[1:]
	}
	return results
}

// TestCorruptRecordsOfTheLogAreCountedOnce goes on behind them.
func TestCorruptRecordsOfTheLogAreCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := event("k", 1)
		broken.Sum++
		o := Options{Limits: quick(), Dir: folder(t), Keep: -1}
		g := open(t, o, event("k", 0), broken, event("k", 2))
		g.drain.until(t.Context(), func() bool { return g.drain.win.low() == 3 })
		time.Sleep(time.Second)
		g.crash()
		g.again(t, o)
		mustAppend(t, g, event("k", 3))
		g.close(t)
		if s := g.Status(); s.Corrupt != 1 || s.Sent != 3 || s.Missing != 0 {
			t.Errorf("status: %+v", s)
		}
		if got := counts(t, g.sinks); len(got) != 3 || got["k.1"] != 0 {
			t.Errorf("at the sink: %v", got)
		}
	})
}

// TestTheLogIsTrimmedBehindTheDrain and never before it.
func TestTheLogIsTrimmedBehindTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Options{Limits: quick(), Dir: folder(t), Keep: time.Hour})
		first := func() int {
			g.logs.mu.Lock()
			defer g.logs.mu.Unlock()
			return g.logs.first[0]
		}
		append10 := func(n int) {
			for i := range 10 {
				mustAppend(t, g, event("k", 10*n+i))
			}
		}
		append10(0)
		time.Sleep(59 * time.Minute)
		if first() != 0 {
			t.Errorf("trimmed to %d before its time", first())
		}
		append10(1)
		time.Sleep(10 * time.Minute)
		if first() != 10 {
			t.Errorf("trimmed to %d after an hour", first())
		}
		g.log.mu.Lock()
		g.log.full = whittle.Errorf(whittle.ResourceExhausted, "the disk is full")
		g.log.mu.Unlock()
		time.Sleep(time.Second)
		if first() != 20 {
			t.Errorf("trimmed to %d when the disk is full", first())
		}
		g.sink.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
		append10(2)
		time.Sleep(3 * time.Hour)
		if first() != 20 {
			t.Errorf("trimmed to %d, and %d are drained", first(), g.Status().Drained)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Trim(short, g.at(25)); whittle.CodeOf(err) != whittle.DeadlineExceeded || first() != 20 {
			t.Errorf("trim of what is not drained: %v, the log begins at %d", err, first())
		}
		g.sink.setDown(nil)
		if err := g.Trim(t.Context(), g.at(25)); err != nil || first() < 25 {
			t.Errorf("trim: %v, the log begins at %d", err, first())
		}
		g.close(t)
	})
}

// TestOpenRefuses what cannot go well.
func TestOpenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := folder(t)
		g := open(t, Options{Limits: quick(), Dir: dir}, event("k", 0), event("k", 1))
		sink, dead := newFakeSink(newFakeStore(1), 0, faults{}), newFakeSink(newFakeStore(1), 0, faults{})
		small := newFakeSink(newFakeStore(1), 0, faults{})
		small.limit = originLen
		again := func() (*Relay, error) {
			return Open(newFakeSink(g.logs, 0, faults{}), sink, Options{Dir: dir, Dead: dead})
		}
		if _, err := again(); whittle.CodeOf(err) != whittle.Unavailable {
			t.Errorf("a second relay on the folder: %v", err)
		}
		g.close(t)
		for name, c := range map[string]struct {
			log, sink stream.Stream
			o         Options
			want      whittle.Code
		}{
			"no dead letters":  {newFakeSink(g.logs, 0, faults{}), sink, Options{Dir: dir}, whittle.Invalid},
			"no sink":          {newFakeSink(g.logs, 0, faults{}), nil, Options{Dir: dir, Dead: dead}, whittle.Invalid},
			"no folder":        {newFakeSink(g.logs, 0, faults{}), sink, Options{Dead: dead}, whittle.Invalid},
			"too many at once": {newFakeSink(g.logs, 0, faults{}), sink, Options{Dir: dir, Dead: dead, Limits: Limits{Inflight: 65}}, whittle.Invalid},
			"below zero":       {newFakeSink(g.logs, 0, faults{}), sink, Options{Dir: dir, Dead: dead, Limits: Limits{Save: -1}}, whittle.Invalid},
			"a log in parts":   {newFakeSink(newFakeStore(2), 0, faults{}), sink, Options{Dir: dir, Dead: dead}, whittle.Invalid},
			"another log":      {newFakeSink(newFakeStore(1), 0, faults{}), sink, Options{Dir: dir, Dead: dead}, whittle.FailedPrecondition},
			"a tiny sink":      {newFakeSink(g.logs, 0, faults{}), small, Options{Dir: dir, Dead: dead}, whittle.Invalid},
		} {
			if r, err := Open(c.log, c.sink, c.o); whittle.CodeOf(err) != c.want || err == nil {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		}
	})
}

// TestWhatTheSinkWouldRefuseIsRefusedAtOnce, in the log's stead.
func TestWhatTheSinkWouldRefuseIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Options{Limits: quick(), Dir: folder(t)})
		long := event("k", 1)
		long.Value = make([]byte, g.Limit())
		long.Seal()
		results := g.Append(t.Context(), []stream.Record{event("k", 0), long, event("k", 2), event("j", 0), event("", 0)})
		for i, want := range []whittle.Code{-1, whittle.Invalid, whittle.Unavailable, -1, -1} {
			if err := results[i].Err; err == nil != (want == -1) || err != nil && whittle.CodeOf(err) != want {
				t.Errorf("record %d: %v", i, err)
			}
		}
		g.close(t)
		if got := counts(t, g.sinks); len(got) != 3 || g.Capacity().Err == nil {
			t.Errorf("at the sink: %v; room %v", got, g.Capacity())
		}
		if err := g.Append(t.Context(), []stream.Record{event("k", 3)})[0].Err; whittle.CodeOf(err) != whittle.Unavailable {
			t.Errorf("after close: %v", err)
		}
	})
}

// TestARecordWithAllHeadersIsSentWithoutItsOrigin.
func TestARecordWithAllHeadersIsSentWithoutItsOrigin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, Options{Limits: quick(), Dir: folder(t)})
		full := event("k", 0)
		full.Header = make([]stream.Header, stream.MaxHeaders)
		mustAppend(t, g, full, event("k", 1))
		g.close(t)
		for _, r := range g.sinks.all() {
			_, _, _, marked := originOf(&r, g.drain.id)
			if marked != (r.ID == "k.1") || r.ID == "k.0" && len(r.Header) != stream.MaxHeaders {
				t.Errorf("%s has %d headers", r.ID, len(r.Header))
			}
		}
	})
}

// TestLookbackIsBounded gives up on a sink with too much behind the last
// acknowledged record, and says so: that is when records come twice.
func TestLookbackIsBounded(t *testing.T) {
	for lookback, copies := range map[int]int{10: 2, 20: 1} {
		synctest.Test(t, func(t *testing.T) {
			var lines strings.Builder
			o := Options{Limits: quick(), Dir: folder(t), Log: textLog(&lines)}
			o.Lookback = lookback
			g := open(t, o)
			time.Sleep(1050 * time.Millisecond) // between two saves
			for n := range 20 {
				mustAppend(t, g, event("k", n))
			}
			synctest.Wait() // all is at the sink, and no time has passed to save that
			g.crash()
			g.again(t, o)
			g.close(t)
			for id, n := range counts(t, g.sinks) {
				if n != copies {
					t.Errorf("with a lookback of %d, %s came %d times", lookback, id, n)
				}
			}
			if said := strings.Contains(lines.String(), "may arrive twice"); said != (copies == 2) {
				t.Errorf("with a lookback of %d:\n%s", lookback, lines.String())
			}
		})
	}
}

// TestASinkThatKeepsLateMakesADouble: what comes to be after the sink was asked
// cannot be known. It is the one double that a readable sink gets, and even
// then the first copies are in order.
func TestASinkThatKeepsLateMakesADouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var late *lateSink
		g := openOver(t, Options{Limits: quick(), Dir: folder(t)}, func(d *fakeSink) stream.Stream {
			late = &lateSink{fakeSink: d}
			return late
		})
		mustAppend(t, g, event("k", 0), event("k", 1))
		time.Sleep(10 * time.Second)
		late.arrive()
		mustAppend(t, g, event("k", 2))
		g.close(t)
		// Whether the first call had one record or both is the drain's affair.
		want := map[string]int{"k.0": 1, "k.1": 1, "k.2": 1}
		for _, r := range late.held {
			want[r.ID]++
		}
		if got := counts(t, g.sinks); want["k.0"] != 2 || !maps.Equal(got, want) {
			t.Errorf("at the sink: %v, want %v", got, want)
		}
	})
}

// lateSink returns no response to the first call, and keeps its records long after.
type lateSink struct {
	*fakeSink
	mu   sync.Mutex // guards the following
	held []stream.Record
}

func (l *lateSink) Append(ctx context.Context, records []stream.Record) []stream.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held != nil {
		return l.fakeSink.Append(ctx, records)
	}
	l.held = append(l.held, records...)
	results := make([]stream.Result, len(records))
	for i := range results {
		results[i].Err = whittle.Errorf(whittle.DeadlineExceeded, "no response")
	}
	return results
}

func (l *lateSink) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.held {
		l.put(r)
	}
}

// TestTroubleIsSaidOnceAndEnded keeps the log readable during an outage.
func TestTroubleIsSaidOnceAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		g := open(t, Options{Limits: quick(), Dir: folder(t), Log: textLog(&lines)})
		g.sink.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
		mustAppend(t, g, event("k", 0))
		time.Sleep(10 * time.Minute)
		g.sink.setDown(nil)
		g.close(t)
		if said, over := strings.Count(lines.String(), "drain failed; it retries"), strings.Count(lines.String(), "drain recovered"); said != 1 || over != 1 {
			t.Errorf("said %d times and ended %d times:\n%s", said, over, lines.String())
		}
	})
}
