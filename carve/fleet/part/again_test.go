package part

import (
	"testing"
	"time"

	"whittle"
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
	url := serve(t)
	a := join(t, url, "a", routes("http://c"))
	until(t, "a leads", func() bool { return leads(a) })
	b := join(t, url, "b", routes("http://c"))
	differing := b.differing
	rounds := b.rounds

	if o := b.Observe(b.exchange(0)); !o.Counted || o.Ask {
		t.Errorf("without a difference: %+v", o)
	}
	x := differing(1)
	if o := b.Observe(x); !o.Counted || !o.Ask {
		t.Fatalf("with a difference: %+v", o)
	}
	until(t, "it is judged", func() bool { return ledger(a).Compared == 2 })
	if n := rounds(x, x.Monolith); n != 4 {
		t.Errorf("%d rounds about what both sides keep to", n)
	}
	noise := x.Monolith
	noise.Body = []byte(`{"n":1000,"token":"a secret of b"}`)
	if n := rounds(differing(2), noise); n != 1 {
		t.Errorf("%d rounds about what the monolith changes", n)
	}
	if n := rounds(b.exchange(3), x.Monolith); n != 0 {
		t.Errorf("%d rounds about what is alike", n)
	}
	for _, g := range []*gateway{a, b} {
		until(t, g.name+" shows it", func() bool {
			as := asked(g)
			return as.Times == 2 && as.Reproducible == 1 && as.Noise == 1
		})
	}

	// Nobody asks of another config than the leader's, nor beyond the fleet's budget.
	if err := b.Reload(monolith, routes("http://other"), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if n := rounds(differing(4), x.Monolith); n != 0 {
		t.Errorf("%d rounds of another config", n)
	}
	if err := b.Reload(monolith, routes("http://c"), func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	a.again.SetLimit(0)
	n := 0
	for n <= againSaved && rounds(differing(5), noise) == 1 {
		n++
	}
	if n == 0 || n > againSaved {
		t.Errorf("%d differences were asked about at once, and the fleet's budget is %d", n, againSaved)
	}
}

// TestUnsaved: what a leader had judged of differences and its records have not, because it
// was killed, another one judges once more, and nothing twice.
func TestUnsaved(t *testing.T) {
	url := serve(t)
	a := join(t, url, "a", routes("http://c"))
	until(t, "a leads", func() bool { return leads(a) })
	b := join(t, url, "b", routes("http://c"))
	x := b.differing(1)
	if o := b.Observe(x); !o.Counted || !o.Ask {
		t.Fatalf("with a difference: %+v", o)
	}
	until(t, "it is judged", func() bool { return ledger(a).Compared == 1 })
	b.rounds(x, x.Monolith)
	until(t, "its records have one", func() bool { return asked(b).Times == 1 })

	a.turn.Lock()
	a.term.records.End() // nothing is saved any more
	a.turn.Unlock()
	noise := x.Monolith
	noise.Body = []byte(`{"n":1000,"token":"a secret of b"}`)
	for i := range 2 {
		b.rounds(b.differing(2+i), noise)
	}
	if n := a.own.Load().Settled(name); n != 3 {
		t.Fatalf("%d were judged", n)
	}
	a.end()
	until(t, "b leads", func() bool { return leads(b) })
	until(t, "b has judged the other two", func() bool { return asked(b).Times == 3 })
	until(t, "no more is to be said", func() bool {
		b.unsaved.mu.Lock()
		defer b.unsaved.mu.Unlock()
		return len(b.unsaved.list) == 2
	})
	if as := asked(b); as.Times != 3 || as.Reproducible != 1 || as.Noise != 2 {
		t.Errorf("%+v", as)
	}

	// Once more, as where a reply was lost.
	j := judged{term: 1, number: 3, at: time.Now()}
	for _, o := range b.unsaved.take() {
		j.question = o.question
	}
	b.resayOne(t.Context(), &j)
	if as := asked(b); as.Times != 3 {
		t.Errorf("said twice: %+v", as)
	}
}

// TestLacks: records lack what was judged after they were written, once, and it is not
// known of records that count nothing.
func TestLacks(t *testing.T) {
	b := base{number: 9, settled: map[string]uint64{"saved": 5, "of an earlier version": 0}, again: map[resaid]bool{}}
	for _, c := range []struct {
		route        string
		term, number uint64
		lacks        bool
	}{
		{"saved", 8, 5, false},
		{"saved", 8, 6, true},
		{"saved", 8, 6, false},
		{"saved", 7, 6, true},
		{"of an earlier version", 8, 6, false},
		{"added since", 8, 6, false},
	} {
		if got := b.lacks(c.route, c.term, c.number); got != c.lacks {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
