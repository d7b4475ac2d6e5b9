package breaker

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestBreakerGivesTheWholeBoundBack: what a good response has made up for leaves room
// for as many users as before.
func TestBreakerGivesTheWholeBoundBack(t *testing.T) {
	b, got := opened(false)
	now, within := time.Unix(0, 0), Bounds{consecutive: 50, exposure: 4}
	for range 3 {
		for user := uint64(1); user <= 3; user++ {
			p, ok := b.Admit(now, within)
			if !ok {
				t.Fatalf("user %d is refused", user)
			}
			b.Done(p, Unknown, now)
		}
		p, ok := b.Admit(now, within)
		if _, more := b.Admit(now, within); !ok || more {
			t.Fatalf("admitted at the bound: %v, beyond it: %v", ok, more)
		}
		b.Done(p, Good, now)
		var all []Permit
		for range within.exposure {
			p, ok := b.Admit(now, within)
			if !ok {
				t.Fatalf("%d of %d are admitted after a good response", len(all), within.exposure)
			}
			all = append(all, p)
		}
		if _, more := b.Admit(now, within); more {
			t.Fatal("one more than the bound is admitted")
		}
		for _, p := range all {
			b.Done(p, Good, now)
		}
	}
	if len(got.reasons) > 0 {
		t.Errorf("tripped: %v", got.reasons)
	}
}

// TestBreakerWaitsForWhatIsUnderWay: at the bound the breaker refuses and does not trip
// as long as a response may come, be it of the candidate or of the monolith.
func TestBreakerWaitsForWhatIsUnderWay(t *testing.T) {
	b, got := opened(false)
	now, within := time.Unix(0, 0), Bounds{consecutive: 50, exposure: 2}
	first, _ := b.Admit(now, within)
	second, _ := b.Admit(now, within)
	b.Suspect(second)
	if _, ok := b.Admit(now, within); ok || len(got.reasons) > 0 {
		t.Errorf("one in flight and one suspect: admitted %v, tripped %v", ok, got.reasons)
	}
	b.Done(first, Good, now)
	b.Settle(second, true, now)
	if _, ok := b.Admit(now, within); !ok || len(got.reasons) > 0 {
		t.Errorf("none in flight: admitted %v, tripped %v", ok, got.reasons)
	}
}

// TestBreakerCountsHowManyWait: the time of the stall rule begins when so many wait, is
// not cut short by more, and begins anew when fewer have waited in between.
func TestBreakerCountsHowManyWait(t *testing.T) {
	within := Bounds{consecutive: 2, exposure: 50}
	for name, c := range map[string]struct {
		waiting int
		then    bool // another one comes when one has gone
		want    time.Duration
	}{
		"one of three goes":                     {3, false, minStallTimeout},
		"one of two goes":                       {2, false, 0},
		"one of two goes, and another one came": {2, true, 400*time.Millisecond + minStallTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at time.Duration
				start := time.Now()
				b := New(func(string, uint64) { at = time.Since(start) })
				b.Set(true, false, 1)
				defer b.Stop()
				b.ObserveMirrored(time.Millisecond)
				var last Permit
				for range c.waiting {
					last, _ = b.Admit(time.Now(), within)
				}
				time.Sleep(400 * time.Millisecond)
				b.Done(last, Unknown, time.Now())
				if c.then {
					b.Admit(time.Now(), within)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if at != c.want {
					t.Errorf("tripped after %v, want %v", at, c.want)
				}
			})
		})
	}
}

// TestBreakerRemembersWhoWentAway: a user counts once until a good response, and each
// time that the candidate has had its whole time; who was made up for is forgotten.
func TestBreakerRemembersWhoWentAway(t *testing.T) {
	b, _ := opened(false)
	b.ObserveMirrored(time.Millisecond)
	now := time.Unix(0, 0)
	gone := func(user uint64, wait time.Duration) int {
		p, _ := b.Admit(now, tight)
		p.User = user
		b.Done(p, Unknown, now.Add(wait))
		return b.unproven
	}
	for i, c := range []struct {
		user     uint64
		wait     time.Duration
		unproven int
	}{
		{1, 0, 1},
		{1, minStallTimeout - 1, 1},
		{1, minStallTimeout, 2},
		{1, minStallTimeout, 3},
		{2, 0, 4},
		{0, 0, 5}, // nobody knows who
		{0, 0, 6},
	} {
		if n := gone(c.user, c.wait); n != c.unproven {
			t.Errorf("%d: %d count, want %d", i, n, c.unproven)
		}
	}
	p, _ := b.Admit(now, tight)
	b.Done(p, Good, now)
	if n := gone(3, 0); n != 7 || len(b.disconnected) != 1 {
		t.Errorf("%d count, and %d users are remembered", n, len(b.disconnected))
	}
	if n := gone(1, 0); n != 8 {
		t.Errorf("%d count after a user went once more since the good response", n)
	}
}

// TestBreakerForgetsTheLastOneMadeUpFor: the user whose disconnect was the newest that
// a good response has made up for is forgotten with the others.
func TestBreakerForgetsTheLastOneMadeUpFor(t *testing.T) {
	b, _ := opened(false)
	now := time.Unix(0, 0)
	for _, user := range []uint64{1, 2} {
		p, _ := b.Admit(now, tight)
		p.User = user
		b.Done(p, Unknown, now)
	}
	p, _ := b.Admit(now, tight)
	b.Done(p, Good, now)
	p, _ = b.Admit(now, tight)
	p.User = 3
	b.Done(p, Unknown, now)
	if _, last := b.disconnected[2]; last || len(b.disconnected) != 1 {
		t.Errorf("remembered are %v", b.disconnected)
	}
}

// TestASlowResponseIsRememberedForMinutes: one is remembered for five minutes at least
// and for no more than ten, where others come now and then.
func TestASlowResponseIsRememberedForMinutes(t *testing.T) {
	var p pace
	start := time.Unix(0, 0)
	p.observe(time.Second, start)
	for at := 30 * time.Second; at <= 11*time.Minute; at += 30 * time.Second {
		p.observe(time.Millisecond, start.Add(at))
		if slow := p.slowest() > 900*time.Millisecond; at < 5*time.Minute && !slow || at > 10*time.Minute && slow {
			t.Errorf("after %v the slowest is %v", at, p.slowest())
		}
	}
}
