package eprocess

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestBetsStakeTheirParts: a payoff changes each bet by its own part of itself, and
// after r rounds 64 parts of 64+r of what was kept back are still there.
func TestBetsStakeTheirParts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	b := NewBets()
	for round := 1; round <= 500; round++ {
		g, before := 2*r.Float64()-1, b
		b.Bet(g, 1e-300, round)
		fresh := before.Cash - b.Cash
		sum := b.Cash
		for i, l := range stakes {
			grown := b.Staked[i] / (before.Staked[i] + fresh/float64(len(stakes)))
			if b.Staked[i] > 0 && !near(grown, 1+l*g, 1e-9) {
				t.Fatalf("round %d: stake %v grows by %v for %v", round, l, grown, g)
			}
			sum += b.Staked[i]
		}
		if !near(b.Now, sum, 1e-12) || b.Peak != max(before.Peak, b.Now) || b.Rounds != round || b.At != 0 {
			t.Fatalf("round %d: %+v after %+v", round, b, before)
		}
		if want := cashPart * cashRounds / float64(cashRounds+round); !near(b.Cash, want, 1e-12) {
			t.Fatalf("round %d: %v is kept back, not %v", round, b.Cash, want)
		}
	}
}

// TestNoPayoffIsNoRound: 0 and what is no number change nothing; what is beyond
// ±1 counts as ±1.
func TestNoPayoffIsNoRound(t *testing.T) {
	b := NewBets()
	b.Bet(0.5, 0.01, 1)
	same := b
	b.Bet(0, 0.01, 2)
	b.Bet(math.NaN(), 0.01, 3)
	if b != same {
		t.Errorf("%+v, not %+v", b, same)
	}
	for _, far := range []float64{1.5, -7} {
		one, bounded := same, same
		one.Bet(far, 0.01, 2)
		bounded.Bet(math.Copysign(1, far), 0.01, 2)
		if one != bounded || one == same {
			t.Errorf("%v: %+v, not %+v", far, one, bounded)
		}
	}
}

// exactly finds a payoff by which a wealth reaches 1/alpha to the last bit.
func exactly(t *testing.T, wealth func(g float64) float64) (g, alpha float64) {
	t.Helper()
	for i := range 1000 {
		g = 0.5 + float64(i)/2001
		if w := wealth(g); w*(1/w) == 1 {
			return g, 1 / w
		}
	}
	t.Fatal("no payoff does")
	return 0, 0
}

// TestDecidedAtTheLevel: a wealth of 1/alpha decides, at the exchange at which it is
// reached first, and less does not. What it was once is what is shown.
func TestDecidedAtTheLevel(t *testing.T) {
	for name, play := range map[string]func(g, alpha float64) (at int, shown, wealth float64){
		"bets": func(g, alpha float64) (int, float64, float64) {
			b := NewBets()
			b.Bet(g, alpha, 5)
			w := b.Now
			b.Bet(1e-9, alpha, 6)
			b.Bet(-1, alpha, 7)
			if b.Decided() != (b.At > 0) {
				t.Error("bets: decided and not decided")
			}
			return b.At, b.EValue(), w
		},
		"bold": func(g, alpha float64) (int, float64, float64) {
			b := NewBold()
			b.See(1+g, alpha, 5)
			w := b.Now()
			b.See(1, alpha, 6)
			b.See(0, alpha, 7)
			return b.At, b.EValue(), w
		},
		"excess": func(g, alpha float64) (int, float64, float64) {
			e := NewExcess()
			e.See(true, 1-g/2, alpha, 5)
			w := e.Cash
			for _, s := range e.Wealth {
				w += s
			}
			e.See(false, 0.5, alpha, 7)
			return e.At, e.EValue(), w
		},
	} {
		g, alpha := exactly(t, func(g float64) float64 { _, _, w := play(g, 1e-300); return w })
		at, shown, w := play(g, alpha)
		if at != 5 || !near(shown, w, 1e-6) || w <= 1 {
			t.Errorf("%s: at %d, shown %v, wealth %v", name, at, shown, w)
		}
		if at, _, _ = play(g, alpha*0.99); at == 5 {
			t.Errorf("%s: decided below the level", name)
		}
	}
}

// TestCapAt: a wealth above the cap is cut to it, each part by the same ratio, and one
// below it stays.
func TestCapAt(t *testing.T) {
	b := NewBets()
	for i := range 10 {
		b.Bet(1, 0.01, i+1)
	}
	whole := b
	if b.CapAt(b.Now + 1); b != whole {
		t.Error("a wealth below the cap was cut")
	}
	b.CapAt(1.5)
	sum := b.Cash
	for i, w := range b.Staked {
		sum += w
		if !near(w/whole.Staked[i], 1.5/whole.Now, 1e-12) {
			t.Errorf("bet %d is cut to %v of what it was", i, w/whole.Staked[i])
		}
	}
	if b.Now != 1.5 || !near(sum, 1.5, 1e-12) || b.Peak != whole.Peak || b.At != whole.At {
		t.Errorf("%+v after %+v", b, whole)
	}
}

func TestHeld(t *testing.T) {
	for w, want := range map[float64]float64{wealthFloor: wealthFloor, wealthFloor / 2: 0, 0: 0, 1: 1, wealthCap: wealthCap, 2 * wealthCap: wealthCap} {
		if held(w) != want {
			t.Errorf("%v is held as %v", w, held(w))
		}
	}
}

// TestExcessOdds: a round multiplies each alternative's wealth by the ratio of its
// likelihood to that of p, whether or not p has changed since the round before.
func TestExcessOdds(t *testing.T) {
	e := NewExcess()
	for n, p := range []float64{0.1, 0.1, 0.4, 0.1, 0, 1, 0.9995} {
		for _, event := range []bool{true, false} {
			before := e
			e.See(event, p, 1e-300, n+1)
			q := max(1e-9, min(0.999, p))
			fresh := (before.Cash - e.Cash) / float64(len(shares))
			sum := e.Cash
			for i, s := range shares {
				a := q + (1-q)*s // s of the way from p to always
				ratio := a / q
				if !event {
					ratio = (1 - a) / (1 - q)
				}
				if grown := e.Wealth[i] / (before.Wealth[i] + fresh); !near(grown, ratio, 1e-9) {
					t.Errorf("p = %v, event %v, arm %d: %v, not %v", p, event, i, grown, ratio)
				}
				sum += e.Wealth[i]
			}
			if want := cashPart * cashRounds / float64(cashRounds+e.Rounds); e.Rounds != before.Rounds+1 || !near(e.Cash, want, 1e-12) || e.Peak != max(before.Peak, sum) {
				t.Errorf("%+v after %+v", e, before)
			}
		}
	}
}

// TestBoldKeepsItsExpectation: the mean wealth over all outcomes of e-values whose
// mean is 1 is 1, and a big one is worth nearly itself at once.
func TestBoldKeepsItsExpectation(t *testing.T) {
	const rounds = 10
	sum := 0.0
	for outcome := range 1 << rounds {
		b := NewBold()
		for i := range rounds {
			e := []float64{0.25, 4}[outcome>>i&1]
			b.See(e, 1e-300, i+1)
		}
		if b.Rounds != rounds || !near(b.Peak, max(b.Peak, b.Now()), 0) || b.At != 0 {
			t.Fatalf("%+v", b)
		}
		chance := 1.0
		for i := range rounds {
			chance *= []float64{0.8, 0.2}[outcome>>i&1]
		}
		sum += chance * b.Now()
	}
	if !near(sum, 1, 1e-9) {
		t.Errorf("the mean wealth is %v", sum)
	}
	b := NewBold()
	if b.See(1000, 0.01, 3); b.Now() < 700 || b.At != 3 {
		t.Errorf("an e-value of 1000 makes a wealth of %v, decided at %d", b.Now(), b.At)
	}
	b = NewBold()
	if b.See(0, 0.01, 1); b.Now() < 0.2 || b.Now() > 0.25 {
		t.Errorf("after an e-value of 0 the wealth is %v", b.Now())
	}
}

// TestRestoredWealth: a state at the bound of what play can give is taken, and one
// beyond it is not.
func TestRestoredWealth(t *testing.T) {
	type state interface{ Valid() bool }
	top := func(bets int) float64 { return 2 * float64(bets) * wealthCap }
	above := func(v float64) float64 { return math.Nextafter(v, math.Inf(1)) }
	nan := math.NaN()
	bets := func(change func(*Bets)) state { b := NewBets(); change(&b); return &b }
	excess := func(change func(*Excess)) state { e := NewExcess(); change(&e); return &e }
	bold := func(change func(*Bold)) state { b := NewBold(); change(&b); return &b }
	sums := func(change func(*RatioSums)) state { r := RatioSums{}; change(&r); return &r }
	for name, s := range map[string]state{
		"bets":           bets(func(*Bets) {}),
		"bets, bankrupt": bets(func(b *Bets) { b.Staked = [len(stakes)]float64{}; b.Cash, b.Now = 0, 0 }),
		"bets, richest": bets(func(b *Bets) {
			b.Staked[0], b.Staked[7], b.Peak, b.Now = wealthCap, wealthCap, top(len(stakes)), top(len(stakes))
		}),
		"bets, counted":      bets(func(b *Bets) { b.At, b.Rounds = 1, 1 }),
		"excess":             excess(func(*Excess) {}),
		"excess, bankrupt":   excess(func(e *Excess) { e.Wealth = [len(shares)]float64{}; e.Cash = 0 }),
		"excess, richest":    excess(func(e *Excess) { e.Wealth[0], e.Wealth[5], e.Peak = wealthCap, wealthCap, top(len(shares)) }),
		"excess, counted":    excess(func(e *Excess) { e.At, e.Rounds = 1, 1 }),
		"bold":               bold(func(*Bold) {}),
		"bold, bankrupt":     bold(func(b *Bold) { b.Wealth = [len(boldStakes)]float64{} }),
		"bold, richest":      bold(func(b *Bold) { b.Wealth[0], b.Wealth[3], b.Peak = wealthCap, wealthCap, top(len(boldStakes)) }),
		"bold, counted":      bold(func(b *Bold) { b.At, b.Rounds = 1, 1 }),
		"sums":               sums(func(*RatioSums) {}),
		"sums, largest":      sums(func(r *RatioSums) { *r = RatioSums{1, 1e20, 1e20, 1e20, 1e20, 1e20} }),
		"sums, least of all": sums(func(r *RatioSums) { r.XY = -1e20 }),
	} {
		if !s.Valid() {
			t.Errorf("%s: refused", name)
		}
	}
	for name, s := range map[string]state{
		"bets, in debt":         bets(func(b *Bets) { b.Staked[7] = -1 }),
		"bets, too rich":        bets(func(b *Bets) { b.Staked[0] = above(wealthCap) }),
		"bets, no wealth":       bets(func(b *Bets) { b.Staked[3] = nan }),
		"bets, cash owed":       bets(func(b *Bets) { b.Cash = -1e-9 }),
		"bets, cash made":       bets(func(b *Bets) { b.Cash = above(cashPart) }),
		"bets, no cash":         bets(func(b *Bets) { b.Cash = nan }),
		"bets, below 0":         bets(func(b *Bets) { b.Now = -1e-9 }),
		"bets, above its peak":  bets(func(b *Bets) { b.Now = above(1) }),
		"bets, peak below 1":    bets(func(b *Bets) { b.Peak, b.Now = 0.999, 0 }),
		"bets, peak too high":   bets(func(b *Bets) { b.Peak = above(top(len(stakes))) }),
		"bets, at before":       bets(func(b *Bets) { b.At = -1 }),
		"bets, rounds before":   bets(func(b *Bets) { b.Rounds = -1 }),
		"excess, in debt":       excess(func(e *Excess) { e.Wealth[5] = -1 }),
		"excess, too rich":      excess(func(e *Excess) { e.Wealth[0] = above(wealthCap) }),
		"excess, no wealth":     excess(func(e *Excess) { e.Wealth[3] = nan }),
		"excess, cash owed":     excess(func(e *Excess) { e.Cash = -1e-9 }),
		"excess, cash made":     excess(func(e *Excess) { e.Cash = above(cashPart) }),
		"excess, peak below 1":  excess(func(e *Excess) { e.Peak = 0.999 }),
		"excess, peak too high": excess(func(e *Excess) { e.Peak = above(top(len(shares))) }),
		"excess, at before":     excess(func(e *Excess) { e.At = -1 }),
		"excess, rounds before": excess(func(e *Excess) { e.Rounds = -1 }),
		"bold, in debt":         bold(func(b *Bold) { b.Wealth[3] = -1 }),
		"bold, too rich":        bold(func(b *Bold) { b.Wealth[0] = above(wealthCap) }),
		"bold, no wealth":       bold(func(b *Bold) { b.Wealth[1] = nan }),
		"bold, peak below 1":    bold(func(b *Bold) { b.Peak = 0.999 }),
		"bold, peak too high":   bold(func(b *Bold) { b.Peak = above(top(len(boldStakes))) }),
		"bold, at before":       bold(func(b *Bold) { b.At = -1 }),
		"bold, rounds before":   bold(func(b *Bold) { b.Rounds = -1 }),
		"sums, count":           sums(func(r *RatioSums) { r.N = -1 }),
		"sums, x":               sums(func(r *RatioSums) { r.X = -1 }),
		"sums, y":               sums(func(r *RatioSums) { r.Y = -1 }),
		"sums, xx":              sums(func(r *RatioSums) { r.XX = -1 }),
		"sums, yy":              sums(func(r *RatioSums) { r.YY = -1 }),
		"sums, xy too large":    sums(func(r *RatioSums) { r.XY = above(1e20) }),
		"sums, xy too small":    sums(func(r *RatioSums) { r.XY = -above(1e20) }),
		"sums, no number":       sums(func(r *RatioSums) { r.YY = nan }),
	} {
		if s.Valid() {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestRestoredNumbers(t *testing.T) {
	if !UpTo(0, 0) || !UpTo(0, 5) || !UpTo(5, 5) || UpTo(6, 5) || UpTo(-1, 5) {
		t.Error("a count is wrong about the count that it is part of")
	}
	if Ratio(0, 0) != 0 || Ratio(1, 4) != 0.25 || Ratio(1, 1) != 1 {
		t.Error("a ratio is not one of counts")
	}
	for confidence, want := range map[float64]float64{0.95: 0.05, 0: 0.01, 1: 0.01, -1: 0.01, 2: 0.01, 1e-9: 1 - 1e-9} {
		if got := Alpha(confidence); !near(got, want, 1e-12) {
			t.Errorf("confidence %v leaves %v", confidence, got)
		}
	}
	if Clamp(2) != 1 || Clamp(-2) != -1 || Clamp(0.5) != 0.5 || Indicator(true) != 1 || Indicator(false) != 0 {
		t.Error("a payoff is not what it is drawn to")
	}
}
