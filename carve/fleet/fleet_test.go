package fleet

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
)

// bench/fleet simulates whole fleets; here is what one gateway does by itself.

const path = "GET /x"

// log is a store without faults.
type log struct {
	at   Instant
	node *Node
	rev  uint64
	kv   map[string]Entry
	// denied is a key that the store lets nobody write.
	denied string
}

func start(t *testing.T, kept []byte) *log {
	t.Helper()
	l := &log{at: Instant{Mono: time.Hour, Wall: time.Hour}, kv: map[string]Entry{}}
	l.node = New(Config{
		Member: "a b", Run: 1, Lease: 4 * time.Second, Kept: kept,
		Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}},
	}, l.at)
	l.node.Synced(l.at)
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
			if up && w.Key != l.denied && (w.Expect == nil || *w.Expect == l.kv[w.Key].Revision) {
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

func TestAGatewayAlone(t *testing.T) {
	l := start(t, nil)
	l.run(5*time.Second, true)
	if _, leads := l.node.Leads(l.at); !leads || l.node.Leader() != "a b" {
		t.Fatal("it does not lead")
	}
	up := func(generation uint64, share whittle.Share) bool {
		return l.node.Propose(path, whittle.Position{Generation: generation, Zero: 1, Share: share, Phase: whittle.PhaseShift}, l.at)
	}
	if up(1, 0) != true || up(2, 100) == true {
		t.Error("a rise before the fall is shown")
	}
	l.run(time.Second, true)
	if !l.node.MayRise(path, l.at) || !up(2, 100) {
		t.Fatal("no rise")
	}
	l.run(time.Second, true)
	if l.share() != 100 || l.node.Limit("c", l.at) != 10 {
		t.Errorf("share %d, %d permits", l.share(), l.node.Limit("c", l.at))
	}
	local := l.node.InForce(path, l.at).Generation
	l.run(5*time.Second, false)
	if p := l.node.InForce(path, l.at); p.Share != 0 || p.Generation <= local || l.node.Limit("c", l.at) != 0 {
		t.Errorf("cut off, it has %+v", p)
	}
	l.run(10*time.Second, true) // it leads again
	if f := l.node.Floor(path); f.Generation != 2 || f.Share != 100 || !up(3, 100) {
		t.Fatalf("it goes on from %+v", f)
	}
	l.run(time.Second, true)
	l.node.Tripped(path, "broken", l.node.InForce(path, l.at).Generation)
	if p := l.node.InForce(path, l.at); p.Share != 0 || p.Phase != whittle.PhaseRolledBack {
		t.Errorf("tripped, it has %+v", p)
	}
	l.run(time.Second, true)
	if g, reason := l.node.Tripping(path); g != 3 || reason != "broken" {
		t.Errorf("the leader knows of the trip at %d: %s", g, reason)
	}
	l.node.Leave(l.at)
	if _, leads := l.node.Leads(l.at); leads {
		t.Error("it has left, and leads")
	}
}

// A leader that finds a later position than its own, or a later fall, is behind: the
// store had lost something when it began to lead.
func TestALeaderThatIsBehind(t *testing.T) {
	l := start(t, nil)
	l.run(5*time.Second, true)
	propose := func(generation uint64) bool {
		return l.node.Propose(path, whittle.Position{Generation: generation, Zero: generation, Phase: whittle.PhaseShadow}, l.at)
	}
	if !propose(1) {
		t.Fatal("it does not lead")
	}
	l.run(time.Second, true)
	if _, behind := l.node.Behind(path); behind || !l.node.MayRise(path, l.at) {
		t.Error("it is behind itself")
	}
	l.put(memberKey("b"), Report{Version: 1, Member: "b", Run: 1, Seq: 1, Routes: map[string]RouteReport{
		RouteKey(path): {Digest: "d", Generation: 7, Zero: 6, Share: 100},
	}})
	f, behind := l.node.Behind(path)
	if !behind || f.Generation != 7 || f.Zero != 6 || l.node.MayRise(path, l.at) || propose(7) {
		t.Errorf("behind: %v, %+v", behind, f)
	}
	if !propose(8) {
		t.Error("it cannot decide anew")
	}
}

// A suspension is noticed by the wall's clock, also where that was set back before.
func TestASuspensionAfterAClockWasSetBack(t *testing.T) {
	l := start(t, nil)
	l.run(time.Second, true)
	l.put("position."+RouteKey(path), l.position(2, 100))
	if l.share() != 100 {
		t.Fatal("no share")
	}
	l.at.Wall -= time.Hour
	l.node.Tick(l.at)
	l.at.Wall += 4 * time.Second // and none by the clock that stands still
	if l.share() != 0 {
		t.Error("a share after a suspension")
	}
	l.at.Wall -= time.Minute
	if l.share() != 0 {
		t.Error("a share after the clock was set back again")
	}
}

func TestAnEarlierRunIsRemembered(t *testing.T) {
	l := start(t, nil)
	l.run(time.Second, true)
	l.put("position."+RouteKey(path), l.position(9, 500))
	next := start(t, l.node.Kept())
	next.run(time.Second, true)
	next.put("position."+RouteKey(path), next.position(8, 1000))
	if next.share() != 0 || next.node.Taken(path).Generation != 9 || next.node.Taken(path).Share != 500 {
		t.Errorf("share %d by an earlier position", next.share())
	}
	next.put("position."+RouteKey(path), next.position(10, 700))
	if next.share() != 700 {
		t.Errorf("share %d by a later one", next.share())
	}
}

// TestAClockThatWasAhead: a gateway whose clock was ahead before, and that has lost what it
// kept, is a later process of its name even so: the leader takes its reports, with those of
// the run before, and the process before has no part any more.
func TestAClockThatWasAhead(t *testing.T) {
	const ahead = 1000
	l := &log{at: Instant{Mono: time.Hour, Wall: time.Hour}, kv: map[string]Entry{}}
	l.node = New(Config{
		Member: "a b", Run: 1, Lease: 4 * time.Second, Counts: func(string) whittle.Counts { return whittle.Counts{Run: 7, Seq: 1} },
		Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}},
	}, l.at)
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
		l := start(t, nil)
		l.run(time.Second, true)
		l.put("position."+RouteKey(path), Position{Version: 1, Route: path, Generation: 1, Zero: 1, Phase: whittle.PhaseShadow, Digest: "d"})
		l.put("position."+RouteKey(path), value(l.position(2, 100)))
		if l.share() != 0 {
			t.Errorf("%s: share %d", name, l.share())
		}
	}
}

func TestWatchedKeys(t *testing.T) {
	want := []string{"lease", "grants", "position.>", "trip.>", "member.612062"}
	if got := Watched("a b"); !slices.Equal(got, want) || Reports != "member.>" {
		t.Errorf("%v", got)
	}
}

// FuzzSaw: whatever the store shows, a gateway goes by no earlier generation, and has
// no share that nobody wrote for its config.
func FuzzSaw(f *testing.F) {
	for _, s := range []string{`{"version":1,"route":"GET /x","generation":3,"share_bp":500,"digest":"d"}`, `{"version":1,"generation":9}`, `[]`, `{"version":1,"candidates":{"c":{"a b@1":{"limit":5}}}}`} {
		for i := range 5 {
			f.Add(i, []byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, kind int, value []byte) {
		at := Instant{Mono: time.Hour}
		n := New(Config{Member: "a b", Run: 1, Lease: time.Second, Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}}}, at)
		keys := []string{"lease", "grants", "position." + RouteKey(path), "trip." + RouteKey(path), memberKey("a b"), "?"}
		n.Saw(Entry{Key: keys[2], Value: []byte(`{"version":1,"route":"GET /x","generation":7,"zero":2,"digest":"d"}`), Revision: 1}, at)
		n.Saw(Entry{Key: keys[uint(kind)%uint(len(keys))], Value: value, Revision: 2}, at)
		n.Tick(at)
		if n.Taken(path).Generation < 7 || n.InForce(path, at).Share != 0 {
			t.Errorf("%+v", n.Taken(path))
		}
	})
}

// What a leader has decided goes down to what gateways know of, and never up.
func TestALeaderGoesByWhatIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		floor Floor
		to    whittle.Share
	}{
		"nothing more":          {Floor{Generation: 5, Zero: 1, Share: 500}, 500},
		"an earlier position":   {Floor{Generation: 4, Zero: 1, Share: 100}, 500},
		"a later one, lower":    {Floor{Generation: 6, Zero: 1, Share: 100}, 100},
		"a later one, higher":   {Floor{Generation: 6, Zero: 1, Share: 900}, 500},
		"a fall":                {Floor{Generation: 6, Zero: 6, Share: 500}, 0},
		"a trip":                {Floor{Generation: 5, Zero: 1, Trip: 5, Share: 500}, 0},
		"another leader's word": {Floor{Generation: 5, Zero: 1, Share: 100}, 100},
	} {
		if to, why := c.floor.Lowers(5, 500); to != c.to || (why == "") != (to == 500) {
			t.Errorf("%s: to %d, %q", name, to, why)
		}
		if to, _ := c.floor.Lowers(5, 0); to != 0 {
			t.Errorf("%s: up to %d", name, to)
		}
	}
	f := Floor{Generation: 5, Zero: 1, Share: 500}
	f.add(RouteReport{Generation: 7, Zero: 1, Share: 100, Trip: 4, Reason: "x"})
	f.add(RouteReport{})
	if (f != Floor{Generation: 7, Zero: 1, Share: 100, Trip: 4, Reason: "x"}) {
		t.Errorf("%+v", f)
	}
	if f.add(RouteReport{Generation: 6, Zero: 6, Share: 900}); f.Zero != 6 || f.Share != 0 {
		t.Errorf("%+v", f)
	}
}

// TestGatewaysThatAreGone: a report that is a day old and was not renewed for an hour is
// removed; one of a gateway that reports with a clock two days slow is not, nor is one that
// a leader has not waited for.
func TestGatewaysThatAreGone(t *testing.T) {
	l := start(t, nil)
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
		if l.kv[memberKey(name)].Key != "" != there {
			t.Errorf("%s is there: %v", name, !there)
		}
	}
}

// TestAStoreThatHasGoneBack: a gateway whose store does not have the position that it goes by
// has nobody on the candidate, however connected it is, until somebody decides anew; a watch
// that begins again takes nobody off.
func TestAStoreThatHasGoneBack(t *testing.T) {
	l := start(t, nil)
	l.run(time.Second, true)
	key := kindPosition + "." + RouteKey(path)
	l.put(key, l.position(5, 100))
	if l.share() != 100 {
		t.Fatalf("a share of %d", l.share())
	}
	l.node.Restarted()
	if l.share() != 100 {
		t.Error("a watch that begins again takes users off")
	}
	l.node.Saw(l.kv[key], l.at)
	l.node.Synced(l.at)
	if l.share() != 100 {
		t.Error("a whole watch takes users off")
	}
	l.node.Restarted()
	l.node.Synced(l.at)
	l.run(time.Second, true)
	if !l.node.Connected(l.at) || l.share() != 0 {
		t.Errorf("a share of %d by a position that the store has lost", l.share())
	}
	l.put(key, l.position(6, 50))
	if l.share() != 50 {
		t.Errorf("a share of %d after another decision", l.share())
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
		l := start(t, nil)
		l.run(time.Second, true)
		l.put(key, l.position(5, 100))
		what(l)
		if got := l.node.Withheld(path, l.at); !strings.Contains(got, want) || (got == "") != (want == "") || (l.share() == 100) != (want == "") {
			t.Errorf("%q: a share of %d, since %q", want, l.share(), got)
		}
	}
}

// TestTheRunBeforeIsLeftOut: of the run before the reports have nothing any more once one
// leader has heard of it for ten leases.
func TestTheRunBeforeIsLeftOut(t *testing.T) {
	l := start(t, nil)
	r := l.node.routes[RouteKey(path)]
	r.before = []whittle.Counts{{Run: 1}}
	l.run(30*time.Second, true)
	l.run(10*time.Second, false) // another term
	l.run(30*time.Second, true)
	if len(r.before) == 0 {
		t.Error("it was left out while leaders changed")
	}
	l.run(20*time.Second, true)
	if len(r.before) != 0 {
		t.Error("it is still there")
	}
}

// TestTheRunBefore: what a run has counted is in the reports of the next one, as it was
// when it ended or was last saved.
func TestTheRunBefore(t *testing.T) {
	counts := whittle.Counts{Run: 7, Seq: 3, Ledger: whittle.Ledger{Total: 5}}
	c := Config{
		Member: "a", Run: 1, Lease: 4 * time.Second, Routes: []Route{{Name: path, Digest: "d", Candidate: "c"}},
		Counts: func(string) whittle.Counts { return counts },
	}
	at := Instant{Mono: time.Hour, Wall: time.Hour}
	reported := func(n *Node) (r RouteReport) {
		t.Helper()
		w := n.Writes()
		var whole Report
		if len(w) == 0 || json.Unmarshal(w[0].Value, &whole) != nil {
			t.Fatal("no report")
		}
		return whole.Routes[RouteKey(path)]
	}
	n := New(c, at)
	n.Synced(at)
	n.Tick(at)
	if r := reported(n); r.Before.Run != 0 || r.Counts.Over || r.Counts.Run != 7 || r.Counts.At.IsZero() {
		t.Errorf("%+v", r)
	}
	counts.Seq, counts.Ledger.Total = 4, 6
	n.Final(at)
	if r := reported(n); !r.Counts.Over || r.Counts.Ledger.Total != 6 {
		t.Errorf("%+v", r.Counts)
	}
	c.Kept = n.Kept()
	counts = whittle.Counts{Run: 8, Seq: 1}
	n = New(c, at)
	n.Synced(at)
	n.Tick(at)
	if r := reported(n); r.Before.Run != 7 || r.Before.Ledger.Total != 6 || !r.Before.Over || r.Counts.Run != 8 || r.Counts.Over {
		t.Errorf("%+v", r)
	}
}

// TestTheRunBeforeWasKilled: what a run had reported and not saved is in the reports of the
// next one, whose first does not take its place in the store before it was read.
func TestTheRunBeforeWasKilled(t *testing.T) {
	counts := whittle.Counts{Run: 7, Seq: 3, Ledger: whittle.Ledger{Total: 5}}
	c := Config{
		Member: "a", Run: 1, Lease: 4 * time.Second, Routes: []Route{{Name: path, Digest: "d", Candidate: "c"}},
		Counts: func(string) whittle.Counts { return counts },
	}
	at := Instant{Mono: time.Hour, Wall: time.Hour}
	n := New(c, at)
	n.Synced(at)
	n.Tick(at)
	n.Writes()
	saved := n.Kept()
	n.Wrote(&Write{Key: memberKey("a")})
	counts.Seq, counts.Ledger.Total = 4, 60
	at.Mono += 2 * time.Second
	n.Tick(at)
	last := n.Writes()
	if len(last) != 1 {
		t.Fatalf("%d reports", len(last))
	}
	counts = whittle.Counts{Run: 8, Seq: 1}
	for what, kept := range map[string][]byte{"saved before": saved, "never saved": nil} {
		c.Kept, c.Run = kept, 2
		next := New(c, at)
		next.Tick(at)
		if w := next.Writes(); len(w) != 0 {
			t.Fatalf("%s: it wrote %s before it had read the store", what, w[0].Value)
		}
		next.Saw(Entry{Key: memberKey("a"), Value: last[0].Value, Revision: 2}, at)
		next.Synced(at)
		next.Tick(at)
		var r Report
		if w := next.Writes(); len(w) != 1 || json.Unmarshal(w[0].Value, &r) != nil {
			t.Fatalf("%s: no report", what)
		}
		if b := r.Routes[RouteKey(path)].Before; b.Run != 7 || b.Ledger.Total != 60 {
			t.Errorf("%s: %+v", what, b)
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
		if len(all) != maxBefore+1 {
			t.Errorf("%s: %d runs", what, len(all))
		}
		for i, got := range all {
			if want := uint64(runs - len(all) + i); got.Run != 100+want || got.Ledger.Total != int64(want) {
				t.Errorf("%s: %+v in place of run %d", what, got, want)
			}
		}
	}
}

// TestExhausted: where no gateway has a permit left, the routes fall after a lease, and not
// where one has one again by then.
func TestExhausted(t *testing.T) {
	exposed := 0
	l := &log{at: Instant{Mono: time.Hour, Wall: time.Hour}, kv: map[string]Entry{}}
	l.node = New(Config{
		Member: "a", Run: 1, Lease: 4 * time.Second, Use: func(string) Use { return Use{Exposed: exposed, Unproven: exposed} },
		Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}},
	}, l.at)
	l.node.Synced(l.at)
	l.run(5*time.Second, true)
	for i, share := range []whittle.Share{0, 100} {
		if !l.node.Propose(path, whittle.Position{Generation: uint64(i) + 1, Zero: 1, Share: share, Phase: whittle.PhaseShift}, l.at) {
			t.Fatal("not proposed")
		}
		l.run(3*time.Second, true)
	}
	tripped := func() bool { generation, _ := l.node.Tripping(path); return generation != 0 }
	for range 3 {
		exposed = 10
		l.run(3*time.Second, true)
		exposed = 9
		l.run(2*time.Second, true)
	}
	if tripped() || l.share() != 100 {
		t.Fatal("it fell although there was a permit again and again")
	}
	exposed, l.denied = 0, memberKey("a")
	l.run(20*time.Second, true)
	if _, leads := l.node.Leads(l.at); !leads || tripped() || l.share() != 0 {
		t.Error("it leads no more, or fell since nobody was heard of")
	}
	l.denied = ""
	l.run(5*time.Second, true)
	if tripped() || l.share() != 100 {
		t.Errorf("a share of %d once it was heard of again", l.share())
	}
	exposed = 10
	l.run(3*time.Second, true)
	if tripped() {
		t.Error("it fell at once")
	}
	l.run(4*time.Second, true)
	if !tripped() || l.share() != 0 {
		t.Error("it did not fall")
	}
}
