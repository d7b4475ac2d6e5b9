// Package distribution compares responses whose numbers are random: their mean,
// spread and distribution, values that are wrong or come again, and the words around
// them, each by a test of its own, with intervals for what EQUIVALENT stands on.
package distribution

import (
	"bytes"
	"math"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/carve/compare/novelty"
)

// How the statistical method's part of the error rate is split over its
// e-processes.
const (
	partMean         = 0.20
	partSpread       = 0.20
	partDistribution = 0.20
	partRepeats      = 0.15
	partWrong        = 0.20
	partUnreadable   = 0.025
	partWording      = 0.025
)

// Method compares responses that are random by nature: it tests whether
// both sides respond by the same distribution. Its null hypothesis is that, given the
// request and the past, swapping the two responses changes nothing, which holds
// if both draw independently by one distribution, whatever that distribution is.
type Method struct {
	c     whittle.Comparison
	read  *reader
	words wording
	alpha float64
	show  *display.View
	// elder is the evidence of the order that came first, whose past of the monolith
	// is longer. Nil: there is none.
	elder *Method
	statisticalState
}

// statisticalState is what is kept over a restart.
type statisticalState struct {
	// N exchanges gave a number on both sides.
	N      int    `json:"n"`
	Strata strata `json:"strata"`

	Mean         meanEprocess         `json:"mean"`
	Spread       spreadEprocess       `json:"spread"`
	Distribution distributionEprocess `json:"distribution"`
	Repeats      repeatsEprocess      `json:"repeats"`
	Wrong        wrongEprocess        `json:"wrong"`
	Blank        blankEprocess        `json:"blank"`
	// Wording compares what stands around the numbers.
	Wording header.Head `json:"wording"`
	// Again compares the monolith with itself.
	Again meanEprocess `json:"again"`

	MeanSums         meanSums           `json:"mean_sums"`
	SpreadSums       eprocess.RatioSums `json:"spread_sums"`
	DistributionSums distributionSums   `json:"distribution_sums"`

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

// New makes the method, which spends alpha on what it tests.
func New(c whittle.Comparison, alpha float64) (*Method, error) {
	r, err := newReader(c)
	if err != nil {
		return nil, err
	}
	words, err := newWording(c, r)
	if err != nil {
		return nil, err
	}
	c.Margin = marginOf(c.Margin)
	s := &Method{c: c, read: r, words: words, alpha: alpha}
	s.statisticalState = freshState()
	return s, nil
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

func freshState() statisticalState {
	return statisticalState{
		Mean:         meanEprocess{Bets: eprocess.NewBets()},
		Spread:       spreadEprocess{Single: eprocess.NewBets(), Double: eprocess.NewBets()},
		Distribution: distributionEprocess{Bets: eprocess.NewBets()},
		Repeats:      repeatsEprocess{Bets: eprocess.NewBets(), Own: eprocess.NewBets()},
		Wrong:        wrongEprocess{Bets: eprocess.NewBets()},
		Blank:        blankEprocess{Bets: eprocess.NewBets()},
		Wording:      header.NewHead(),
		Again:        meanEprocess{Bets: eprocess.NewBets()},
	}
}

// Follow has the monolith's distribution predicted by what another one knows of it,
// where that has seen more.
func (s *Method) Follow(elder *Method) { s.elder = elder }

// ShowBy has what is shown redacted by d.
func (s *Method) ShowBy(d *display.View) {
	s.show = d
	s.words.showBy(d)
}

// ShowAgain redacts what was restored.
func (s *Method) ShowAgain() {
	e := &s.Evidence
	for _, kept := range [][]whittle.Sample{e.Repeated, e.Inliers, s.Blank.Samples} {
		s.show.Again(kept, nil)
	}
	for i := range e.Wrong {
		if one := e.Wrong[i].Sample; one != nil {
			all := []whittle.Sample{*one}
			s.show.Again(all, nil)
			*one = all[0]
		}
	}
	for i := range s.Wording.Changes {
		c := &s.Wording.Changes[i]
		c.From, c.To = s.show.Kept(nil, c.From), s.show.Kept(nil, c.To)
		s.show.Again(c.Samples, nil)
	}
}

// Observe implements method.
func (s *Method) Observe(x *whittle.Exchange) whittle.Observation {
	per, ok := s.read.divisor(&x.Request)
	if !ok || math.Abs(per) > largest {
		// Whether it is left out must not depend on what was answered.
		s.compareWording(x)
		return whittle.Observation{Skip: whittle.SkipUntranslated}
	}
	a, aOK := s.read.read(&x.Monolith)
	b, bOK := s.read.read(&x.Candidate)
	if !aOK || !bOK {
		return s.unread(x, aOK, bOK)
	}
	o := s.weigh(x, per, a, b)
	o.Ask = s.compareWording(x)
	o.Differs = o.Ask || o.Differs
	return o
}

// compareWording takes what stands around the two numbers to its head; it
// reports whether it differs undeclared.
func (s *Method) compareWording(x *whittle.Exchange) bool {
	alpha := s.alpha * partWording
	d, fair := s.words.differ(&x.Monolith, &x.Candidate)
	again := x.Repeat != nil && header.Usable(x.Repeat, &x.Monolith)
	if d == nil && !again {
		s.Wording.ObserveSame(Limit, alpha, s.N)
		return false
	}
	o := header.Pair{Shape: novelty.ShapeOf(&x.Request), Exchange: x, Show: s.show}
	if d != nil {
		o.Path, o.From, o.To, o.Unbet = d.Path, d.From, d.To, !fair
		o.Spot = func() display.Spot { return s.words.spot(d, &x.Monolith, &x.Candidate) }
		if d.Expect >= 0 {
			o.Reason = display.Reason(s.c.Expect[d.Expect])
		}
	}
	if again {
		self, _ := s.words.differ(&x.Monolith, x.Repeat)
		o.Again, o.Self = true, self != nil && self.Expect < 0
	}
	return s.Wording.See(&o, Limit, alpha, s.N)
}

// unread settles an exchange in which a side gave no number.
func (s *Method) unread(x *whittle.Exchange, aOK, bOK bool) whittle.Observation {
	w := &s.Blank
	w.N++
	w.X += int(eprocess.Indicator(!aOK))
	w.Y += int(eprocess.Indicator(!bOK))
	if aOK {
		s.keepSample(&w.Samples, x)
	}
	w.Bets.Bet(eprocess.Indicator(!bOK)-eprocess.Indicator(!aOK), s.alpha*partUnreadable, s.N+w.N)
	if aOK == bOK {
		return whittle.Observation{Differs: !bytes.Equal(x.Monolith.Body, x.Candidate.Body)}
	}
	return whittle.Observation{Differs: s.expected(whittle.FoundUnreadable, "") == ""}
}

// weigh takes a pair of numbers to every e-process. Each of them looks at the
// past first and learns from the pair after it has bet.
func (s *Method) weigh(x *whittle.Exchange, per float64, a, b number) whittle.Observation {
	s.N++
	again, either := s.Repeats.see(per, a, b, x.At.Unix(), s.alpha*partRepeats, s.N)
	if again {
		s.keepSample(&s.Evidence.Repeated, x)
	}
	unit, key := unitOf(per), keyOfPer(per)
	t := s.Strata.of(key)
	p := pair{n: s.N, x: drawIn(a.f/unit, largest), y: drawIn(b.f/unit, largest), stratum: t}
	past, known := s.predict(&p, t)

	var xOutlier, yOutlier bool
	if known {
		xOutlier = past.outlier(p.x, p.centre, p.spread)
		yOutlier = past.outlier(p.y, p.centre, p.spread)
		s.Wrong.see(t, s.Strata.place(t), xOutlier, yOutlier, s.alpha*partWrong, s.N)
		s.Evidence.sized(per, yOutlier)
		if yOutlier && !xOutlier {
			s.Evidence.wrong(s.show, x, key, per, a, b, p.spread*unit)
		}
		s.askedAgain(x, &p, unit)
	}
	// Leaving out a pair of which either response is an outlier does not depend on
	// which side gave it, so what is left is as exchangeable as before.
	if known && !xOutlier && !yOutlier {
		s.compareDistributions(&p)
		t.Y.add(p.y)
		if !either {
			t.Fresh.add(p.y)
		}
		s.keepSample(&s.Evidence.Inliers, x)
	}
	t.learn(p.x, p.centre, p.spread, known)
	return whittle.Observation{Differs: yOutlier && !xOutlier && s.expected(whittle.FoundWrongValue, "") == ""}
}

// predict gives the monolith's past for the next pair: that of its own stratum, or of
// the elder one if that has seen more of the monolith. It uses the past alone, the same
// for both responses, so the pair stays exchangeable. Thanks to the elder stratum, a
// candidate that is wrong only when users ask it is found while few such responses
// have been seen.
func (s *Method) predict(p *pair, t *stratum) (past *stratum, known bool) {
	past, of := t, &s.Strata
	if s.elder != nil {
		if e := s.elder.Strata.known(t.Key); e != nil && e.X.N > t.X.N {
			past, of = e, &s.elder.Strata
		}
	}
	p.centre, p.spread, known = of.predict(past)
	return past, known
}

// askedAgain takes the monolith's second response to the same request, where
// there is one, to the e-process of the mean in the candidate's place. If the
// monolith is found to differ from itself, responses depend on when one asks, the
// pairs are not exchangeable, and nothing is shown by another distribution.
func (s *Method) askedAgain(x *whittle.Exchange, p *pair, unit float64) {
	if x.Repeat == nil || x.Repeat.Failure != whittle.NoFailure || x.Repeat.Status != x.Monolith.Status {
		return
	}
	v, ok := s.read.read(x.Repeat)
	if !ok {
		return
	}
	g := eprocess.Clamp((p.z(drawIn(v.f/unit, largest)) - p.z(p.x)) / 3)
	w := &s.Again
	w.Bets.Bet(g*w.Skill.stake(&w.Skill), s.alpha*partMean, p.n)
	w.Skill.learn(g)
}

// compareDistributions gives a pair without outliers to the e-processes of mean, spread and distribution.
func (s *Method) compareDistributions(p *pair) {
	cx, cy := cellOf(p.z(p.x)), cellOf(p.z(p.y))
	s.Mean.bet(p, s.alpha*partMean)
	s.Spread.bet(p, s.alpha*partSpread)
	s.Distribution.bet(cx, cy, s.alpha*partDistribution, p.n)
	s.DistributionSums.add(cx, cy)
	if p.stratum.Key == rawKey {
		return
	}
	s.MeanSums.add(p)
	if p.spread > 0 {
		s.SpreadSums.Add(math.Abs(p.z(p.y)), math.Abs(p.z(p.x)))
	}
}

// expected gives the reason of a declared difference of distribution; empty: none.
func (s *Method) expected(kind whittle.FindingKind, path string) string {
	for _, e := range s.c.Expect {
		if e.Kind == kind && (e.Path == "" || strings.EqualFold(e.Path, path)) {
			return display.Reason(e)
		}
	}
	return ""
}

// Open implements method: the series counts these itself.
func (s *Method) Open() int { return 0 }

// Places implements method: what stands around the number.
func (s *Method) Places(a, b *whittle.Response) (list, rare []string) {
	if d, _ := s.words.differ(a, b); d != nil && d.Expect < 0 {
		list = append(list, d.Path)
	}
	return list, nil
}

// Varies implements method: random responses are held against each other by their
// distribution alone.
func (s *Method) Varies(_, _ *whittle.Response) {}

// Limit is the share of responses that may differ in a fixed part though
// they are random by nature.
const Limit = 0.005
