package fleet

import (
	"testing"
	"time"

	"whittle"
)

// TestHandOver: the process that replaces another one of a gateway has its share and its
// permits at once, for no longer than the other one would have had them, and numbers what
// is in force as that did.
func TestHandOver(t *testing.T) {
	begin := func() (*log, whittle.Position) {
		l := start(t, nil)
		l.run(5*time.Second, true)
		for i, share := range []whittle.Share{0, 100} {
			if !l.node.Propose(path, whittle.Position{Generation: uint64(i) + 1, Zero: 1, Share: share, Phase: whittle.PhaseShift}, l.at) {
				t.Fatal("not proposed")
			}
			l.run(3*time.Second, true)
		}
		at := l.node.InForce(path, l.at)
		if at.Share != 100 || l.node.Limit("c", l.at) == 0 {
			t.Fatalf("%+v, limit %d", at, l.node.Limit("c", l.at))
		}
		return l, at
	}
	replace := func(l *log, member string, asked time.Duration) {
		l.node.Leave(l.at)
		for _, w := range l.node.Writes() {
			l.rev++
			l.kv[w.Key] = Entry{Key: w.Key, Value: w.Value, Revision: l.rev}
		}
		b := l.node.HandOver(l.at)
		// Another process has clocks of its own.
		l.at.Mono = time.Minute
		since := Instant{Mono: l.at.Mono, Wall: l.at.Wall}
		l.at.Mono, l.at.Wall = l.at.Mono+asked, l.at.Wall+asked
		l.node = New(Config{
			Member: member, Run: 77, Lease: 4 * time.Second, Handed: b, Asked: since,
			Routes: []Route{{Name: path, Digest: "d", Candidate: "c", Exposure: 10}},
		}, l.at)
	}
	show := func(l *log) {
		l.node.Restarted()
		for _, e := range l.kv {
			l.node.Saw(e, l.at)
		}
		l.node.Synced(l.at)
	}

	l, before := begin()
	limit, run, seq := l.node.Limit("c", l.at), l.node.c.Run, l.node.seq
	replace(l, "a b", time.Second)
	if at := l.node.InForce(path, l.at); at != before || l.node.Limit("c", l.at) != limit || l.node.c.Run != run {
		t.Errorf("%+v and %d permits became %+v and %d", before, limit, at, l.node.Limit("c", l.at))
	}
	l.node.Restarted()
	if l.share() != 100 {
		t.Error("no share while the watch begins")
	}
	show(l)
	if l.share() != 100 || l.node.seq < seq {
		t.Error("no share once the store has been read")
	}
	l.run(20*time.Second, true)
	if at := l.node.InForce(path, l.at); at != before || l.node.c.Run != run || l.node.seq <= seq {
		t.Errorf("later %+v, run %d, report %d", at, l.node.c.Run, l.node.seq)
	}
	if _, leads := l.node.Leads(l.at); !leads {
		t.Error("it does not lead again")
	}

	l, _ = begin()
	replace(l, "a b", time.Second)
	l.run(4*time.Second, false)
	if l.share() != 0 || l.node.Limit("c", l.at) != 0 {
		t.Errorf("a share of %d without a word of the store", l.share())
	}

	l, _ = begin()
	replace(l, "a b", 5*time.Second)
	if l.share() != 0 {
		t.Error("a share after a handover that took longer than the lease")
	}
	show(l)
	l.run(3*time.Second, true)
	if l.share() != 100 {
		t.Error("and none when it has heard of the fleet again")
	}

	l, _ = begin()
	replace(l, "another", 0)
	if l.share() != 0 || l.node.c.Run != 77 {
		t.Error("another gateway has taken over")
	}
}

// TestHandedIs: a place is one member's of one fleet; an earlier version does not say which.
func TestHandedIs(t *testing.T) {
	for _, c := range []struct {
		fleet         string
		same, another bool
	}{{"shop", true, false}, {"", true, true}} {
		n := New(Config{Fleet: c.fleet, Member: "a", Lease: time.Second}, Instant{Mono: time.Hour})
		h, ok := ReadHanded(n.HandOver(Instant{Mono: time.Hour}))
		if !ok || h.Is("shop", "a") != c.same || h.Is("other", "a") != c.another || h.Is("shop", "b") {
			t.Errorf("%q: %+v", c.fleet, h)
		}
	}
}
