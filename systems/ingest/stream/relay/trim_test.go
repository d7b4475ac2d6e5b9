package relay

import (
	"testing"
	"testing/synctest"
	"time"

	"whittle"
)

// TestPastIsBounded notes two days of saves, one a second: the marks stay few,
// and what is old enough leaves soon after its time and never before.
func TestPastIsBounded(t *testing.T) {
	const keep = 24 * time.Hour
	var p drainHistory
	begun := time.Unix(0, 0)
	for second := range uint64(48 * 3600) {
		now := begun.Add(time.Duration(second) * time.Second)
		before := p.note(now, second, keep)
		age := now.Sub(begun.Add(time.Duration(before) * time.Second))
		switch {
		case len(p.marks) >= 2*minHistoryMarks:
			t.Fatalf("%d marks after %d seconds", len(p.marks), second)
		case before > 0 && age < keep:
			t.Fatalf("what was drained %v ago leaves", age)
		case second > 25*3600 && age > keep+keep/minHistoryMarks*2:
			t.Fatalf("what was drained %v ago is still there", age)
		}
	}
}

// TestAShortLogKeepsWhatFits: of drained records that are young the
// oldest leave, and no more than there is need for.
func TestAShortLogKeepsWhatFits(t *testing.T) {
	const (
		holds = 1000
		low   = 20
	)
	append10 := func(t *testing.T, g *rig, times int) {
		for n := range times {
			for i := range 10 {
				mustAppend(t, g, event("k", 10*n+i))
			}
			time.Sleep(time.Second)
		}
	}
	for name, before := range map[string]func(*testing.T, *rig, Options){
		"at once": func(*testing.T, *rig, Options) {},
		"after a restart": func(t *testing.T, g *rig, o Options) {
			append10(t, g, (holds-low)/10)
			g.close(t)
			g.again(t, o)
		},
		"in a burst after an idle day": func(t *testing.T, g *rig, _ Options) {
			for n := range 300 {
				mustAppend(t, g, event("idle", n))
				time.Sleep(10 * time.Minute)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Limits: quick(), Dir: folder(t), Keep: 24 * time.Hour, Low: low}
				o.Save = 500 * time.Millisecond
				g := open(t, o)
				before(t, g, o)
				g.log.mu.Lock()
				g.log.holds = holds
				g.log.mu.Unlock()
				kept := func() int {
					g.logs.mu.Lock()
					defer g.logs.mu.Unlock()
					return len(g.logs.parts[0]) - g.logs.first[0]
				}
				append10(t, g, 1+(holds-low-kept())/10)
				for range 300 {
					append10(t, g, 1)
					if n := kept(); n > holds-low || n < holds-2*low {
						t.Errorf("the log keeps %d, and has room for %d", n, holds)
						break
					}
				}
				g.sink.setDown(whittle.Errorf(whittle.Unavailable, "nobody is there"))
				from := g.Status().Drained
				append10(t, g, 3*low)
				if s := g.Status(); kept() < 30*low || s.Drained > from+10 {
					t.Errorf("the log keeps %d of %d that are not drained: %+v", kept(), 30*low, s)
				}
				g.sink.setDown(nil)
				g.close(t)
				if s := g.Status(); s.Missing != 0 {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}
