package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
)

// simtest simulates whole fleets; here is what one gateway does by itself.

const path = "GET /x"

// log is a store without faults.
type log struct {
	at   Instant
	node *Node
	rev  uint64
	kv   map[string]Entry
}

func start() *log {
	l := begin(nil)
	l.node.Synced(l.at)
	return l
}

// begin is start before the store was read, of a gateway that counts.
func begin(counts func(string) whittle.Counts) *log {
	l := &log{at: Instant{Mono: time.Hour, Wall: time.Hour}, kv: map[string]Entry{}}
	l.node = New(Config{
		Member: "a b", Run: 1, Lease: 4 * time.Second, Counts: counts,
		Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}},
	}, l.at)
	return l
}

func (l *log) put(key string, v any) {
	b, _ := json.Marshal(v)
	l.rev++
	l.kv[key] = Entry{Key: key, Value: b, Revision: l.rev}
	l.node.Saw(l.kv[key], l.at)
}

// run lets time pass, with the store there or not.
func (l *log) run(d time.Duration, up bool) {
	for end := l.at.Mono + d; l.at.Mono < end; {
		l.at.Mono += 100 * time.Millisecond
		l.at.Wall += 100 * time.Millisecond
		l.node.Tick(l.at)
		for _, w := range l.node.Writes() {
			if up && (w.Expect == nil || *w.Expect == l.kv[w.Key].Revision) {
				if l.rev++; w.Gone {
					delete(l.kv, w.Key)
				} else {
					l.kv[w.Key] = Entry{Key: w.Key, Value: w.Value, Revision: l.rev}
					l.node.Saw(l.kv[w.Key], l.at)
				}
			}
			l.node.Wrote(w)
		}
	}
}

func (l *log) share() whittle.Share { return l.node.InForce(path, l.at).Share }

func (l *log) position(generation uint64, share whittle.Share) Position {
	return Position{Version: 1, Route: path, Generation: generation, Zero: 1, Share: share, Phase: whittle.PhaseShift, Digest: "d"}
}

// TestAClockThatWasAhead: a gateway whose clock was ahead before, and that has lost what it
// kept, is a later process of its name even so: the leader takes its reports, with those of
// the run before, and the process before has no part any more.
func TestAClockThatWasAhead(t *testing.T) {
	const ahead = 1000
	l := begin(func(string) whittle.Counts { return whittle.Counts{Run: 7, Seq: 1} })
	before := Report{Version: 1, Member: "a b", Run: ahead, Seq: 50, Routes: map[string]RouteReport{RouteKey(path): {Counts: whittle.Counts{Run: 6, Seq: 3}}}}
	l.put(memberKey("a b"), before)
	l.node.Synced(l.at)
	l.run(10*time.Second, true)
	if _, leads := l.node.Leads(l.at); !leads || l.node.Replaced() {
		t.Fatal("it does not lead")
	}
	r := l.node.Members()[0].Report
	if r.Run != ahead+1 || r.Routes[RouteKey(path)].Counts.Run != 7 || r.Routes[RouteKey(path)].Before.Run != 6 {
		t.Errorf("the leader has %+v", r)
	}
	before.Seq++
	l.put(memberKey("a b"), before)
	if l.run(5*time.Second, true); l.node.Replaced() || !l.node.Connected(l.at) {
		t.Error("the process before has its name")
	}
}

// What a later version writes has no share here, and nothing that comes is believed.
func TestWhatCannotBeRead(t *testing.T) {
	for name, value := range map[string]func(Position) any{
		"a later format":   func(p Position) any { p.Version = 2; return p },
		"no format":        func(p Position) any { p.Version = 0; return p },
		"another route":    func(p Position) any { p.Route = "GET /y"; return p },
		"another config":   func(p Position) any { p.Digest = "e"; return p },
		"no position":      func(Position) any { return "x" },
		"before a fall":    func(p Position) any { p.Zero = 0; return p },
		"an earlier one":   func(p Position) any { p.Generation = 1; return p },
		"too large for us": func(Position) any { return make([]byte, maxValue) },
	} {
		l := start()
		l.run(time.Second, true)
		l.put("position."+RouteKey(path), Position{Version: 1, Route: path, Generation: 1, Zero: 1, Phase: whittle.PhaseShadow, Digest: "d"})
		l.put("position."+RouteKey(path), value(l.position(2, 100)))
		fatal.Same(t, l.share(), 0, "%s: share", name)
	}
}

// FuzzSaw: whatever the store shows, a gateway goes by no earlier generation, and has
// no share that nobody wrote for its config.
func FuzzSaw(f *testing.F) {
	for _, s := range []string{`{"version":1,"route":"GET /x","generation":3,"share_bp":500,"digest":"d"}`, `{"version":1,"generation":9}`, `[]`, `{"version":1,"limits":{"c":5}}`} {
		for i := range 5 {
			f.Add(i, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, kind int, value []byte) {
		at := Instant{Mono: time.Hour}
		n := New(Config{Member: "a b", Run: 1, Lease: time.Second, Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}}}, at)
		keys := []string{"lease", "permits", "position." + RouteKey(path), "trip." + RouteKey(path), memberKey("a b"), "?"}
		n.Saw(Entry{Key: keys[2], Value: []byte(`{"version":1,"route":"GET /x","generation":7,"zero":2,"digest":"d"}`), Revision: 1}, at)
		n.Saw(Entry{Key: keys[uint(kind)%uint(len(keys))], Value: value, Revision: 2}, at)
		n.Tick(at)
		if n.Taken(path).Generation < 7 || n.InForce(path, at).Share != 0 {
			t.Errorf("%+v", n.Taken(path))
		}
	})
}

// TestGatewaysThatAreGone: a report that is a day old and was not renewed for an hour is
// removed; one of a gateway that reports with a clock two days slow is not, nor is one that
// a leader has not waited for.
func TestGatewaysThatAreGone(t *testing.T) {
	l := start()
	l.run(5*time.Second, true)
	l.at.Wall += 100 * 24 * time.Hour
	report := func(name string, ago time.Duration, seq uint64) {
		l.put(memberKey(name), Report{Version: 1, Member: name, Run: 1, Seq: seq, At: l.node.wall().Add(-ago)})
	}
	l.run(5*time.Second, true)
	report("gone", 25*time.Hour, 1)
	report("of yesterday", 20*time.Hour, 1)
	report("slow", 48*time.Hour, 1)
	if l.run(time.Minute, true); l.kv[memberKey("gone")].Key == "" {
		t.Error("it was removed at once")
	}
	for _, name := range []string{"gone", "of yesterday"} { // two hours pass without a report of theirs
		l.node.lead.seats[name].seen.Mono -= 2 * time.Hour
	}
	l.run(time.Second, true)
	for name, there := range map[string]bool{"gone": false, "of yesterday": true, "slow": true, "a b": true} {
		fatal.Same(t, l.kv[memberKey(name)].Key != "", there, "%s is there", name)
	}
}

// TestWithheld: what users have less than was decided has a reason.
func TestWithheld(t *testing.T) {
	key := kindPosition + "." + RouteKey(path)
	for want, what := range map[string]func(l *log){
		"":                      func(*log) {},
		"tripped":               func(l *log) { l.node.Tripped(path, "broken", l.node.InForce(path, l.at).Generation) },
		"does not hear":         func(l *log) { l.run(5*time.Second, false) },
		"lost what was decided": func(l *log) { l.node.Restarted(); l.node.Synced(l.at); l.run(time.Second, true) },
		"another config": func(l *log) {
			p := l.position(6, 100)
			p.Digest = "e"
			l.put(key, p)
		},
		"of a later version": func(l *log) {
			p := l.position(6, 100)
			p.Version = formatVersion + 1
			l.put(key, p)
		},
	} {
		l := start()
		l.run(time.Second, true)
		l.put(key, l.position(5, 100))
		what(l)
		if got := l.node.Withheld(path, l.at); !strings.Contains(got, want) || (got == "") != (want == "") || (l.share() == 100) != (want == "") {
			t.Errorf("%q: a share of %d, since %q", want, l.share(), got)
		}
	}
}

// TestRunsThatNobodyHasRead: gateways that are restarted again and again while nobody leads
// report what each of their runs has counted, in order, whether it was saved or is in the
// store alone; of so many at most.
func TestRunsThatNobodyHasRead(t *testing.T) {
	for what, c := range map[string]struct{ reports, saves bool }{
		"reported and saved": {true, true}, "reported alone": {true, false}, "saved alone, without a store": {false, true},
	} {
		var kept []byte
		stored := Entry{Key: memberKey("a")}
		at := Instant{Mono: time.Hour, Wall: time.Hour}
		const runs = maxBefore + 3
		var last RouteReport
		for run := range uint64(runs) {
			n := New(Config{
				Member: "a", Run: run + 1, Lease: 4 * time.Second, Kept: kept, Routes: []Route{{Name: path, Digest: "d", Candidate: "c"}},
				Counts: func(string) whittle.Counts {
					return whittle.Counts{Run: 100 + run, Seq: 1, Ledger: whittle.Ledger{Total: int64(run)}}
				},
			}, at)
			if stored.Value != nil {
				n.Saw(stored, at)
			}
			n.Synced(at)
			n.Tick(at)
			w := n.Writes()
			var r Report
			if len(w) != 1 || json.Unmarshal(w[0].Value, &r) != nil {
				t.Fatalf("%s: run %d has not reported", what, run)
			}
			last = r.Routes[RouteKey(path)]
			if c.reports {
				stored.Value = w[0].Value
			}
			if c.saves {
				kept = n.Kept()
			}
		}
		all := append(last.Earlier, last.Before, last.Counts)
		fatal.Same(t, len(all), maxBefore+1, "%s: runs", what)
		for i, got := range all {
			if want := uint64(runs - len(all) + i); got.Run != 100+want || got.Ledger.Total != int64(want) {
				t.Errorf("%s: %+v in place of run %d", what, got, want)
			}
		}
	}
}

// TestPermitsAreEqualParts: each gateway that is heard of has the same part of the bound, also
// where it does not divide evenly, and where there are more gateways than permits nobody has one.
func TestPermitsAreEqualParts(t *testing.T) {
	l := start() // with a bound of 10
	seq := uint64(0)
	with := func(others int) int {
		for range 30 {
			seq++
			for i := range others {
				name := fmt.Sprint(i)
				l.put(memberKey(name), Report{Version: 1, Member: name, Run: 1, Seq: seq})
			}
			l.run(time.Second, true)
		}
		return l.node.Limit("c", l.at)
	}
	for _, c := range []struct{ others, limit int }{{0, 10}, {2, 3}, {9, 1}, {10, 0}, {1, 5}} {
		fatal.Same(t, with(c.others), c.limit, "permits next to %d others", c.others)
	}
	l.node.Restarted()
	l.node.Synced(l.at) // of a store that has lost them
	l.run(2*time.Second, true)
	if l.kv[kindPermits].Revision == 0 || l.node.Limit("c", l.at) == 0 {
		t.Error("what the store has lost is not written again")
	}
	l.put(kindPermits, "not what can be read")
	fatal.Same(t, l.node.Limit("c", l.at), 0, "what cannot be read permits something")
}
