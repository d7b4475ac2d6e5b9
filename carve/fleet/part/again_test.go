package part

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/carve/fleet/jetstream"
	"whittle/e2e/process"
	"whittle/internal/fatal"
)

// differing is an exchange in which the candidate has another value.
func (g *gateway) differing(i int) *whittle.Exchange {
	x := g.exchange(i)
	x.Candidate.Body = []byte(`{"n":"other","token":"a secret of b"}`)
	return x
}

// rounds asks both sides again until nobody wants more, and says how often.
func (g *gateway) rounds(x *whittle.Exchange, changed whittle.Response) (n int) {
	r := whittle.Recheck{Exchange: x}
	for ; n < 10; n++ {
		if _, more := g.Recheck(&r); !more {
			return n
		}
		r.Rounds = append(r.Rounds, whittle.Round{After: time.Duration(n) * time.Second, Monolith: changed, Candidate: x.Candidate})
	}
	return n
}

// asked is what a gateway shows of both sides having been asked again.
func asked(g *gateway) (as whittle.Asked) {
	if r, err := g.Route(name); err == nil {
		for _, f := range r.Verdict.Findings {
			if f.Path == "$.n" && f.Asked != nil {
				as = *f.Asked
			}
		}
	}
	return as
}

// TestAskedAgain: a gateway that does not lead asks both sides again about a difference, and
// whoever leads judges it: what both keep to is reproducible, what the monolith alone changes
// is its own noise, and an exchange without a difference is asked about by nobody.
func TestAskedAgain(t *testing.T) {
	_, a, b := two(t)
	differing, rounds := b.differing, b.rounds

	if o := b.Observe(b.exchange(0)); !o.Counted || o.Ask {
		t.Errorf("without a difference: %+v", o)
	}
	x := differing(1)
	if o := b.Observe(x); !o.Counted || !o.Ask {
		t.Fatalf("with a difference: %+v", o)
	}
	process.Until(t, "it is judged", func() bool { return ledger(a).Compared == 2 })
	fatal.Same(t, rounds(x, x.Monolith), 4, "rounds about what both sides keep to")
	noise := x.Monolith
	noise.Body = []byte(`{"n":1000,"token":"a secret of b"}`)
	fatal.Same(t, rounds(differing(2), noise), 1, "rounds about what the monolith changes")
	fatal.Same(t, rounds(b.exchange(3), x.Monolith), 0, "rounds about what is alike")
	for _, g := range []*gateway{a, b} {
		process.Until(t, g.name+" shows it", func() bool {
			as := asked(g)
			return as.Times == 2 && as.Reproducible == 1 && as.Noise == 1
		})
	}

	// Nobody asks of another config than the leader's, nor beyond the fleet's budget.
	fatal.If(t, b.Reload(monolith, routes("http://other"), func() error { return nil }))
	fatal.Same(t, rounds(differing(4), x.Monolith), 0, "rounds of another config")
	fatal.If(t, b.Reload(monolith, routes("http://c"), func() error { return nil }))
	a.again.SetLimit(0)
	n := 0
	for n <= againSaved && rounds(differing(5), noise) == 1 {
		n++
	}
	if n == 0 || n > againSaved {
		t.Errorf("%d differences were asked about at once, and the fleet's budget is %d", n, againSaved)
	}
}

// Those who asked for the fleet while its store hung have what came of the one question, each
// as it gets the lock: pages and commands must not be gone when they are needed most.
func TestAStoreThatHangsIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hangs, many = 5 * time.Second, 20
		var m members
		asked := 0
		begun := time.Now()
		for range many {
			m.renew(func() ([]jetstream.Reported, error) {
				asked++
				time.Sleep(hangs)
				return nil, context.DeadlineExceeded
			})
			if m.failed == nil {
				t.Fatal("no error is kept")
			}
		}
		if waited := time.Since(begun); waited > hangs || asked != 1 {
			t.Errorf("%d have waited for %v, and the store was asked %d times", many, waited, asked)
		}
	})
}
