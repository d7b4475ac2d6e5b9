package relay

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
	"whittle/whittletest"
)

// rig is a relay over doubles.
type rig struct {
	logs, sinks, refusals *fakeStore
	log                   *fakeLog
	sink                  *fakeSink
	fate                  func(*stream.Record) error // of the sink's records
	*Relay
}

func open(t *testing.T, o Options, fate func(*stream.Record) error, before ...stream.Record) *rig {
	t.Helper()
	g := &rig{logs: newFakeStore(), sinks: newFakeStore(), refusals: newFakeStore(), fate: fate}
	for _, r := range before {
		g.logs.put(r)
	}
	g.again(t, o)
	return g
}

func (g *rig) again(t *testing.T, o Options) {
	t.Helper()
	g.log, g.sink = newFakeLog(g.logs), newFakeSink(g.sinks, 0, faults{fate: g.fate})
	o.Refused = newFakeSink(g.refusals, 0, faults{})
	var err error
	g.Relay, err = Open(g.log, g.sink, o)
	fatal.If(t, err)
}

func (g *rig) close(t *testing.T) {
	t.Helper()
	fatal.If(t, g.Close(t.Context()))
	whittletest.Refused(t, g.Append(t.Context(), []stream.Record{event("late", 0)})[0].Err, whittle.Unavailable, "after close")
}

func (g *rig) first() int {
	first, _, _ := g.log.Bounds()
	return int(first)
}

// copies are how many there are of each id.
func copies(s *fakeStore) map[string]int {
	all := map[string]int{}
	for _, r := range s.all() {
		all[r.ID]++
	}
	return all
}

var errDown = whittle.Errorf(whittle.Unavailable, "nobody is there")

// TestAnHourOfOutage has the sink down for an hour: every append is acknowledged
// at once, the sink is asked less and less, the state says what is wrong, once, and
// afterwards everything arrives, once and in order.
func TestAnHourOfOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines strings.Builder
		g := open(t, Options{Window: 500, Dir: folder(t), Keep: true, Log: slog.New(slog.NewTextHandler(&lines, nil))}, nil)
		streamtest.Keep(t, g, event("k", 0))
		time.Sleep(2 * time.Second)
		g.sink.setDown(errDown)
		asked := g.sink.called()
		const n = 900
		for i := 1; i <= n; i++ {
			before := time.Now()
			streamtest.Keep(t, g, event("k", i), event(fmt.Sprint("u", i%50), i))
			if time.Since(before) != 0 || g.Capacity().Err != nil {
				t.Fatal("an append waited for the sink")
			}
			time.Sleep(4 * time.Second)
		}
		s := g.Status()
		if !slices.Equal(s.Troubles, []string{"sink"}) || s.Lag != 2*n || s.LagAge < 59*time.Minute || s.LagBytes < 2*n*40 || s.LagBytes > 2*n*200 || s.Records != 0 {
			t.Errorf("%+v", s)
		}
		// With full jitter below 30 seconds, 16 queues ask every 15 on average.
		if calls := g.sink.called() - asked; calls > 16*(3600/15)*3/2 {
			t.Errorf("the sink was asked %d times", calls)
		}
		g.sink.setDown(nil)
		fatal.If(t, g.Wait(t.Context(), 2*n+1))
		if s := g.Status(); s.Lag != 0 || s.LagAge != 0 || len(s.Troubles) != 0 || s.Sent != 2*n+1 || s.Records == 0 {
			t.Errorf("afterwards: %+v", s)
		}
		g.close(t)
		next := map[string]int{}
		for _, r := range g.sinks.all() {
			var i int
			_, _ = fmt.Sscan(r.ID[strings.LastIndexByte(r.ID, '.')+1:], &i)
			if i < next[r.Key] {
				t.Fatalf("%s came again, or behind number %d", r.ID, next[r.Key])
			}
			next[r.Key] = i + 1
		}
		if got := copies(g.sinks); len(got) != 2*n+1 {
			t.Errorf("%d records arrived", len(got))
		}
		if said, over := strings.Count(lines.String(), "drain failed; it retries"), strings.Count(lines.String(), "drain recovered"); said != 1 || over != 1 {
			t.Errorf("said %d times and ended %d times:\n%s", said, over, lines.String())
		}
	})
}

// TestAStuckKeyHoldsNobodyElse, nor much: far more than the window can be sent past it, up
// to twice the window, which is what comes again after a crash.
func TestAStuckKeyHoldsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quick(t)
		o.Window = 100
		g := open(t, o, func(r *stream.Record) error {
			if r.Key == "stuck" {
				return whittle.Errorf(whittle.ResourceExhausted, "this key is throttled")
			}
			return nil
		})
		streamtest.Keep(t, g, event("stuck", 0))
		const others = 1000
		for n := range others {
			streamtest.Keep(t, g, event(fmt.Sprint("k", n%50), n/50))
			if n%10 == 0 {
				time.Sleep(200 * time.Millisecond)
			}
			g.drain.mu.Lock()
			held := g.drain.open
			g.drain.mu.Unlock()
			if held > o.Window {
				t.Fatalf("%d records are held after %d", held, n)
			}
		}
		if got := len(copies(g.sinks)); got < 2*o.Window-5 {
			t.Errorf("%d records passed the stuck one, and %d may be behind it", got, 2*o.Window)
		}
		if s := g.Status(); s.Drained != 0 || len(s.Troubles) == 0 {
			t.Errorf("%+v", s)
		}
		g.crash()
		g.fate = nil
		g.again(t, o)
		g.close(t)
		got, again := copies(g.sinks), 0
		for _, n := range got {
			again += n - 1
		}
		if len(got) != others+1 || again > 2*o.Window {
			t.Errorf("%d records arrived, %d again", len(got), again)
		}
	})
}

// TestCorruptRecordsOfTheLogArePassed and counted.
func TestCorruptRecordsOfTheLogArePassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := event("k", 1)
		broken.Sum++
		o := quick(t)
		o.Keep = true
		g := open(t, o, nil, event("k", 0), broken, event("k", 2), broken)
		fatal.If(t, g.Wait(t.Context(), 4))
		streamtest.Keep(t, g, event("k", 3))
		g.close(t)
		if s := g.Status(); s.Corrupt != 2 || s.Sent != 3 {
			t.Errorf("status: %+v", s)
		}
		if got := copies(g.sinks); len(got) != 3 || got["k.1"] != 0 {
			t.Errorf("at the sink: %v", got)
		}
	})
}

// TestWhatTheSinkRefusesIsKept with the reason, and nothing behind it waits for long.
func TestWhatTheSinkRefusesIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, quick(t), func(r *stream.Record) error {
			if strings.HasSuffix(r.ID, ".3") {
				return whittle.Errorf(whittle.Invalid, "poison")
			}
			return nil
		})
		full := event("full", 3)
		full.Header = make([]stream.Header, stream.MaxHeaders)
		streamtest.Keep(t, g, full)
		for n := range 6 {
			streamtest.Keep(t, g, event("k", n))
		}
		g.close(t)
		refused := g.refusals.all()
		if len(refused) != 2 || len(copies(g.sinks)) != 5 || g.Status().Refused != 2 {
			t.Fatalf("%d refused, %d at the sink, %+v", len(refused), len(copies(g.sinks)), g.Status())
		}
		for _, r := range refused {
			want := event(r.Key, 3)
			if !bytes.Equal(r.Value, want.Value) || !r.Intact() || r.ID != want.ID || r.Get(ReasonHeader) == "" != (r.Key == "full") || len(r.Header) > stream.MaxHeaders {
				t.Errorf("refused: %+v", r)
			}
		}
	})
}

// TestTheLogIsTrimmedBehindTheDrain and never before it; where drained records are kept, the
// log is told what its own retention may drop.
func TestTheLogIsTrimmedBehindTheDrain(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			o := quick(t)
			o.Keep = keep
			g := open(t, o, nil)
			for n := range 10 {
				streamtest.Keep(t, g, event("k", n))
			}
			time.Sleep(time.Second)
			g.sink.setDown(errDown)
			streamtest.Keep(t, g, event("k", 10))
			time.Sleep(time.Hour)
			want := 10
			if keep {
				want = 0
			}
			if g.first() != want || g.logs.hold != 10 {
				t.Errorf("keep %v: the log begins at %d, and is held from %d on", keep, g.first(), g.logs.hold)
			}
			g.sink.setDown(nil)
			g.close(t)
		})
	}
}

// TestAShortLogKeepsWhatFits: of drained records the oldest leave, and no more than there
// is need for; none that is not drained.
func TestAShortLogKeepsWhatFits(t *testing.T) {
	const holds, low = 1000, 20
	synctest.Test(t, func(t *testing.T) {
		o := quick(t)
		o.Keep, o.Low, o.Save = true, low, 500*time.Millisecond
		g := open(t, o, nil)
		append10 := func(times int) {
			for n := range times {
				for i := range 10 {
					streamtest.Keep(t, g, event("k", 10*n+i))
				}
				time.Sleep(time.Second)
			}
		}
		append10((holds - low) / 10)
		g.close(t)
		g.again(t, o)
		g.log.holds = holds
		kept := func() int { return len(g.logs.all()) - g.first() }
		append10(1)
		for range 200 {
			append10(1)
			if n := kept(); n > holds-low || n < holds-2*low {
				t.Fatalf("the log keeps %d, and has room for %d", n, holds)
			}
		}
		g.sink.setDown(errDown)
		from := g.Status().Drained
		append10(3 * low)
		if s := g.Status(); kept() < 30*low || s.Drained > from+10 {
			t.Errorf("the log keeps %d of %d that are not drained: %+v", kept(), 30*low, s)
		}
		g.sink.setDown(nil)
		g.close(t)
	})
}

// TestOpenRefuses what cannot go well.
func TestOpenRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quick(t)
		g := open(t, o, nil, event("k", 0), event("k", 1))
		sink := newFakeSink(newFakeStore(), 0, faults{})
		_, err := Open(newFakeLog(g.logs), sink, o)
		whittletest.Refused(t, err, whittle.FailedPrecondition, "a second relay on the folder")
		g.close(t)
		for name, c := range map[string]struct {
			log    Log
			change func(*Options)
			want   whittle.Code
		}{
			"nothing for the refused": {newFakeLog(g.logs), func(o *Options) { o.Refused = nil }, whittle.Invalid},
			"no folder":               {newFakeLog(g.logs), func(o *Options) { o.Dir = "" }, whittle.Invalid},
			"below zero":              {newFakeLog(g.logs), func(o *Options) { o.Save = -1 }, whittle.Invalid},
			"another log":             {newFakeLog(newFakeStore()), func(*Options) {}, whittle.FailedPrecondition},
		} {
			o := o
			c.change(&o)
			if r, err := Open(c.log, sink, o); whittle.CodeOf(err) != c.want || err == nil {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		}
	})
}
