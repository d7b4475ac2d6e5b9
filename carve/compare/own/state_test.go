package own

import (
	"math/rand/v2"
	"testing"
	"time"

	"whittle/carve/compare/eprocess"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

// TestOneSidedMoves: of two states of which either is as likely to move alone, one is taken to
// move more often in at most 1 of 20 runs at an alpha of 0.05, looked at after each of 300 moves,
// and otherwise both are known to have a state of their own. What moves on one side alone is shown
// within 12 moves.
//
// Hypothesis: a move alone is either side's with a chance of a half. Source: eprocess.Share.
func TestOneSidedMoves(t *testing.T) {
	t.Parallel()
	const alpha = 0.05
	play := func(s *State, moves int, candidate func() bool) {
		s.Repeats.N = Enough
		for i := range moves {
			at := simtest.Start.Add(time.Duration(i) * time.Second)
			odd := candidate()
			s.Look(!odd)
			s.Move(!odd, odd, at, at.Add(time.Second), alpha)
		}
	}
	r := rand.New(rand.NewPCG(7, 8))
	simtest.AtMost(alpha, 0.035).Play(t, "one-sided, or not known", func(int) bool {
		s := State{}
		play(&s, 300, func() bool { return r.IntN(2) == 0 })
		return s.OneSided || !s.Own() || !s.Explains(false)
	})
	for _, odd := range []bool{false, true} {
		s := State{}
		play(&s, 12, func() bool { return odd })
		if !s.OneSided || s.Own() || s.Explains(true) {
			t.Errorf("the candidate %t: %+v", odd, s)
		}
	}
}

// TestLooksThatOverlap: of looks that see the same move one counts.
func TestLooksThatOverlap(t *testing.T) {
	s := State{}
	for i := range 10 {
		from := simtest.Start.Add(time.Duration(i) * time.Second)
		s.Move(true, false, from, from.Add(3*time.Second), 0.05)
	}
	fatal.Same(t, s.Alone, [2]int{4, 0}, "%+v", s)
}

// TestWhatVariesAtOnce: what differs as often in two responses at once as between two moments is
// no state, and what often differs at once may be one.
func TestWhatVariesAtOnce(t *testing.T) {
	s := State{Looks: eprocess.Share{N: 100, Differing: 5}, Repeats: eprocess.Share{N: 100, Differing: 5}, Alone: [2]int{5, 5}}
	if s.Own() || s.Explains(true) || s.Often() {
		t.Errorf("varies: %+v", s)
	}
	s.Looks.Differing = 20
	if !s.Own() || !s.Explains(false) {
		t.Errorf("moves: %+v", s)
	}
	if s.Repeats.Differing = 11; !s.Often() || s.Own() {
		t.Errorf("varies often: %+v", s)
	}
}

// TestBetsOfTheTimeBeforeAreVoid: what was won while the monolith varied too often for bets to count
// does not count once it varies less.
func TestBetsOfTheTimeBeforeAreVoid(t *testing.T) {
	var s State
	for _, c := range []struct {
		repeats, varied int
		void            bool
	}{{1, 0, false}, {10, 1, false}, {11, 2, false}, {19, 2, false}, {20, 2, true}, {21, 2, false}} {
		fatal.Same(t, s.Repeated(c.repeats, c.varied), c.void, "%d of %d", c.varied, c.repeats)
	}
}

func TestMain(m *testing.M) { simtest.Main(m) }
