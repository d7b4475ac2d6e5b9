// Package distribution compares responses whose numbers are random: their mean, spread and distribution,
// wrong values and repeats. Each has a test, and what EQUIVALENT stands on has an interval.
package distribution

import (
	"bytes"
	"math"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// Limit is the share of random responses that may differ in a fixed part.
const Limit = 0.005

// Method tests whether the random responses of both sides follow the same distribution. Its null
// hypothesis: given the request and the past, swapping the two responses changes nothing. That holds if
// both draw independently from one distribution, whatever it is. Its JSON is its state.
type Method struct {
	c     whittle.Comparison
	read  *reader
	alpha float64
	show  *display.View
	// elder is the evidence of the order that came first, with a longer past of the monolith; nil: none.
	elder *Method
	state
}

// state is what is kept over a restart. The bounds of its parts bound it, and its numbers are finite.
type state struct {
	// N counts the exchanges with a number on both sides.
	N      int    `json:"n"`
	Strata strata `json:"strata"`

	Mean         lean               `json:"mean"`
	Spread       spreadEprocess     `json:"spread"`
	Distribution distances          `json:"distribution"`
	Repeats      repeatsEprocess    `json:"repeats"`
	Wrong        wrongEprocess      `json:"wrong"`
	Blank        blankEprocess      `json:"blank"`
	Again        lean               `json:"again"` // compares the monolith with itself
	MeanSums     meanSums           `json:"mean_sums"`
	SpreadSums   eprocess.RatioSums `json:"spread_sums"`

	Evidence evidence `json:"evidence"`
}

// blankEprocess watches for responses in which no number can be read.
type blankEprocess struct {
	Bets    eprocess.Bets    `json:"bets"`
	N       int              `json:"n"`
	X       int              `json:"x"`
	Y       int              `json:"y"`
	Samples []whittle.Sample `json:"samples"`
}

// New makes the method, which spends alpha. show redacts what it shows.
func New(c whittle.Comparison, alpha float64, show *display.View) (*Method, error) {
	r, err := newReader(c)
	if err != nil {
		return nil, err
	}
	c.Margin = marginOf(c.Margin)
	bets := eprocess.NewBets()
	return &Method{c: c, read: r, alpha: alpha, show: show, state: state{
		Mean: newLean(), Spread: spreadEprocess{lean: newLean()}, Again: newLean(),
		Repeats: repeatsEprocess{Bets: bets, Own: bets}, Wrong: wrongEprocess{Bets: bets}, Blank: blankEprocess{Bets: bets},
	}}, nil
}

// marginOf fills in what a margin leaves out.
func marginOf(m whittle.Margin) whittle.Margin {
	if !(m.Mean > 0) {
		m.Mean = 0.005
	}
	if !(m.Spread > 1) {
		m.Spread = 1.25
	}
	if !(m.Distribution > 0) {
		m.Distribution = 0.1
	}
	return m
}

// Follow has the monolith's distribution predicted from another one's past, where that has seen more.
func (s *Method) Follow(elder *Method) { s.elder = elder }

// ShowAgain redacts what was restored.
func (s *Method) ShowAgain() {
	e := &s.Evidence
	for _, kept := range [][]whittle.Sample{e.Repeated, e.Inliers, s.Blank.Samples} {
		s.show.Again(kept, nil)
	}
	for i := range e.Wrong {
		s.show.Again(e.Wrong[i].Sample, nil)
	}
}

// Observe takes an exchange to the tests of numbers. unread says that a side gave no number.
func (s *Method) Observe(x *whittle.Exchange) (o whittle.Observation, unread bool) {
	per, ok := s.read.divisor(&x.Request)
	if !ok || math.Abs(per) > largest {
		// Leaving it out must not depend on the responses.
		return whittle.Observation{Skip: whittle.SkipUntranslated}, false
	}
	a, aOK := s.read.read(&x.Monolith)
	b, bOK := s.read.read(&x.Candidate)
	if !aOK || !bOK {
		return s.unread(x, aOK, bOK), true
	}
	return s.weigh(x, per, a, b), false
}

// unread settles an exchange in which a side gave no number.
func (s *Method) unread(x *whittle.Exchange, aOK, bOK bool) whittle.Observation {
	w, blankX, blankY := &s.Blank, eprocess.Indicator(!aOK), eprocess.Indicator(!bOK)
	w.N, w.X, w.Y = w.N+1, w.X+int(blankX), w.Y+int(blankY)
	w.Bets.Bet(blankY-blankX, s.alpha*eprocess.OfRandom, s.N+w.N)
	if aOK {
		s.keepSample(&w.Samples, x)
	}
	if aOK == bOK {
		return whittle.Observation{Differs: !bytes.Equal(x.Monolith.Body, x.Candidate.Body)}
	}
	return whittle.Observation{Differs: s.expected(whittle.FoundUnreadable, "") == ""}
}

// weigh takes a pair of numbers to every test. Each looks at the past alone, and learns from the pair
// after it has bet.
func (s *Method) weigh(x *whittle.Exchange, per, a, b float64) whittle.Observation {
	s.N++
	again := s.Repeats.see(per, a, b, x.At.Unix(), s.alpha*eprocess.OfRandom, s.N)
	if again {
		s.keepSample(&s.Evidence.Repeated, x)
	}
	unit, t := unitOf(per), s.Strata.of(keyOfPer(per))
	p := pair{n: s.N, x: drawIn(a/unit, largest), y: drawIn(b/unit, largest), stratum: t}
	past, known := s.predict(&p)

	var xOutlier, yOutlier bool
	if known {
		xOutlier, yOutlier = past.outlier(&p, p.x), past.outlier(&p, p.y)
		s.Wrong.see(t, s.Strata.place(t.Key), xOutlier, yOutlier, s.alpha*eprocess.OfRandom, s.N)
		s.Evidence.sized(per, yOutlier)
		if yOutlier && !xOutlier {
			s.Evidence.wrong(s.show, x, wrongValue{Key: t.Key, Per: per, X: a, Y: b, Noise: p.spread * unit})
		}
		s.askedAgain(x, &p, unit)
	}
	// Leaving out a pair with an outlier does not depend on which side gave it, so the rest is as
	// exchangeable as before.
	if known && !xOutlier && !yOutlier {
		s.compareDistributions(&p)
		t.Y.add(p.y)
		s.keepSample(&s.Evidence.Inliers, x)
	}
	t.learn(&p, known)
	return whittle.Observation{Differs: yOutlier && !xOutlier && s.expected(whittle.FoundWrongValue, "") == ""}
}

// predict gives the monolith's past for the next pair: that of its own stratum, or of the elder one if that
// has seen more. It uses the past alone, the same for both responses, so the pair stays exchangeable. The
// elder stratum lets a candidate that is wrong only for users be found after few such responses.
func (s *Method) predict(p *pair) (past *stratum, known bool) {
	past, of := p.stratum, s.Strata
	if s.elder != nil {
		elder := s.elder.Strata
		if i := elder.place(past.Key); i >= 0 && elder[i].X.N > past.X.N {
			past, of = &elder[i], elder
		}
	}
	p.centre, p.spread, known = of.predict(past)
	return past, known
}

// askedAgain takes the monolith's second response, where there is one, to the test of the mean in the
// candidate's place. If the monolith differs from itself, responses depend on when one asks. The pairs
// are then not exchangeable, and another distribution shows nothing.
func (s *Method) askedAgain(x *whittle.Exchange, p *pair, unit float64) {
	if x.Repeat == nil || x.Repeat.Failure != whittle.NoFailure || x.Repeat.Status != x.Monolith.Status {
		return
	}
	if v, ok := s.read.read(x.Repeat); ok {
		s.Again.bet(p.larger(drawIn(v/unit, largest), p.x), s.Again.stake(&s.Again.Skill), nil, s.alpha*eprocess.OfRandom, p.n)
	}
}

// compareDistributions tests mean, spread and distribution by a pair without outliers.
func (s *Method) compareDistributions(p *pair) {
	zx, zy := p.z(p.x), p.z(p.y)
	s.Mean.bet(p.larger(p.y, p.x), s.Mean.stake(&p.stratum.Mean), &p.stratum.Mean, s.alpha*eprocess.OfRandom, p.n)
	s.Spread.see(p, s.alpha*eprocess.OfRandom)
	s.Distribution.see(classOf(zx), classOf(zy), s.alpha*eprocess.OfRandom, p.n)
	if p.stratum.Key == rawKey {
		return
	}
	s.MeanSums.see(p)
	if p.spread > 0 {
		s.SpreadSums.Add(math.Abs(zy), math.Abs(zx))
	}
}

// expected is the reason of a declared difference of distribution; empty: none.
func (s *Method) expected(kind whittle.FindingKind, path string) string {
	for _, e := range s.c.Expect {
		if e.Kind == kind && (e.Path == "" || strings.EqualFold(e.Path, path)) {
			return display.Reason(e)
		}
	}
	return ""
}
