package distribution

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/internal/units"
)

// suspicion is the e-value from which an undecided finding is shown.
const suspicion = 20

// Report implements method.
func (s *Method) Report(alpha float64) ([]whittle.Finding, []whittle.Bound, int) {
	bounds, more := s.bounds(eprocess.Alpha(s.c.Confidence))
	var list []whittle.Finding
	list = append(list, s.wrongFindings()...)
	list = append(list, s.distributionFindings(bounds)...)
	list = append(list, s.repeatsFindings()...)
	list = append(list, s.blankFindings()...)
	for i := range list {
		switch list[i].Kind {
		case whittle.FoundMean, whittle.FoundSpread, whittle.FoundDistribution:
			list[i].Summary += s.leftOut()
		}
		list[i].Expected = s.expected(list[i].Kind, list[i].Path)
	}
	list = append(list, s.Wording.Findings(whittle.FoundBody, "around the number:")...)
	slices.SortStableFunc(list, func(a, b whittle.Finding) int {
		return int(eprocess.Indicator(b.Decided) - eprocess.Indicator(a.Decided))
	})
	return list, bounds, more
}

func shows(b *eprocess.Bets) bool { return b.Decided() || b.Peak >= suspicion }

// wrongFindings gives one finding per cause of wrong values.
func (s *Method) wrongFindings() []whittle.Finding {
	groups := explain(s.wrongValues(), s.perName())
	largest := 0
	for _, g := range groups {
		largest = max(largest, len(g.values))
	}
	list := make([]whittle.Finding, 0, len(groups))
	for _, g := range groups {
		list = append(list, s.wrongFinding(&g, len(g.values) == largest))
	}
	return list
}

// wrongValues are the wrong values kept, with the noise as it is known by now.
func (s *Method) wrongValues() []wrongValue {
	list := slices.Clone(s.Evidence.Wrong)
	for i := range list {
		v := &list[i]
		if t := s.Strata.of(v.Key); t.X.N >= 2 {
			v.Noise = t.X.spread() * unitOf(v.Per)
		}
	}
	return list
}

func (s *Method) wrongFinding(g *group, largest bool) whittle.Finding {
	f := whittle.Finding{
		Kind: whittle.FoundWrongValue, Cause: g.cause, Of: s.N,
		Path: class(g.values, s.Evidence.Divisors, s.perName()),
	}
	var asked int
	f.Count, asked = s.Evidence.countOf(g.values)
	f.EValue = s.Wrong.Bets.EValue()
	seen := map[int]bool{}
	for _, v := range g.values {
		t := s.Strata.of(v.Key)
		if !seen[v.Key] && (largest || t.Wrong.X == 0 && len(g.values) >= fewOutlier) {
			f.DecidedAt = earlier(f.DecidedAt, s.Wrong.decidedAt(t))
		}
		seen[v.Key] = true
		f.EValue = max(f.EValue, t.Wrong.Peak)
		if v.Sample != nil && len(f.Samples) < display.MaxSamples {
			f.Samples = append(f.Samples, *v.Sample)
		}
	}
	f.Decided = f.DecidedAt > 0
	v := g.values[0]
	f.Monolith, f.Candidate = display.Figure(v.X), display.Figure(v.Y)
	where := ""
	if f.Path != "" {
		where = " to requests with " + f.Path
	}
	f.Summary = fmt.Sprintf("%d of %d responses%s are values that the monolith would never give: %s where it said %s",
		f.Count, asked, where, f.Candidate, f.Monolith)
	return f
}

// distributionFindings gives what is found of mean, spread and distribution.
func (s *Method) distributionFindings(bounds []whittle.Bound) []whittle.Finding {
	repeats := s.Repeats.DecidedAt() > 0
	var list []whittle.Finding
	if shows(&s.Mean.Bets) && (!repeats || math.Abs(s.shift()) >= plainShift) {
		list = append(list, s.meanFinding())
	}
	if s.Spread.DecidedAt() > 0 || s.Spread.eValue() >= suspicion {
		list = append(list, s.spreadFinding())
	}
	// What repeats moves the share of each class of responses by itself: without
	// another mean or spread it is no finding of its own.
	if shows(&s.Distribution.Bets) && (!repeats || len(list) > 0) {
		list = append(list, s.distributionFinding(bounds))
	}
	if s.Again.Bets.Decided() {
		for i := range list {
			list[i].Decided, list[i].DecidedAt = false, 0
			list[i].Cause = "the monolith's own second responses are shifted likewise: responses depend on when one asks, so this shows nothing"
		}
	}
	return list
}

// plainShift is how many standard errors of the candidate's different responses
// its mean must lie off before it is a finding in addition to `repeats`. It is large as
// responses of one seed are not independent across sizes either.
const plainShift = 6

// shift is the difference of the means over the sizes of request, in standard
// errors (Stouffer's sum), with the larger of the two spreads.
func (s *Method) shift() float64 {
	sum, n := 0.0, 0
	for i := range s.Strata.Seen {
		t := &s.Strata.Seen[i]
		if t.X.N < enough || t.Fresh.N < 2 {
			continue
		}
		sx, sy := t.X.spread(), max(t.X.spread(), t.Fresh.spread())
		se := math.Sqrt(sx*sx/float64(t.X.N) + sy*sy/float64(t.Fresh.N))
		if se > 0 {
			sum += (t.Fresh.Mean - t.X.Mean) / se
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / math.Sqrt(float64(n))
}

func (s *Method) meanFinding() whittle.Finding {
	b := &s.Mean.Bets
	f := s.distributionBase(whittle.FoundMean, b.At, b.EValue(), b.Rounds)
	x, y, cause := s.means()
	unit := ""
	if n := s.perName(); n != "" {
		unit = " per " + n
	}
	f.Monolith, f.Candidate, f.Cause = display.Figure(x)+unit, display.Figure(y)+unit, cause
	change, word := y/x-1, "higher"
	if x == 0 {
		f.Summary = fmt.Sprintf("the candidate's mean is %s against %s%s", display.Figure(y), display.Figure(x), unit)
		return f
	}
	if change < 0 {
		word = "lower"
	}
	f.Summary = fmt.Sprintf("the candidate's mean is %s %s: %s against %s%s",
		display.InPercent(math.Abs(change)), word, display.Figure(y), display.Figure(x), unit)
	return f
}

// means gives both sides' scaled means, each size of request weighed by how
// exactly its means are known, and a cause where one factor fits the sizes.
func (s *Method) means() (x, y float64, cause string) {
	type ratio struct{ r, err float64 }
	var ratios []ratio
	weight, best := 0.0, 0.0
	for i := range s.Strata.Seen {
		t := &s.Strata.Seen[i]
		if t.X.N < 2 || t.Y.N < 2 || t.Key == rawKey && len(s.Strata.Seen) > 1 {
			continue
		}
		v := t.X.spread()*t.X.spread()/float64(t.X.N) + t.Y.spread()*t.Y.spread()/float64(t.Y.N)
		w := 1 / max(v, 1e-18*max(1e-18, t.X.Mean*t.X.Mean))
		x, y, weight = x+w*t.X.Mean, y+w*t.Y.Mean, weight+w
		best = max(best, w)
		if t.X.Mean != 0 {
			ratios = append(ratios, ratio{t.Y.Mean / t.X.Mean, math.Sqrt(v) / math.Abs(t.X.Mean)})
		}
	}
	if weight == 0 {
		return 0, 0, ""
	}
	x, y = x/weight, y/weight
	common, fit, differing := y/x, 0, 0
	for _, r := range ratios {
		if math.Abs(common-1) > 4*r.err {
			differing++
			if near(r.r, common, 4*r.err+1e-3) {
				fit++
			}
		}
	}
	if differing >= 2 && fit*4 >= differing*3 && x != 0 {
		cause = fmt.Sprintf("one factor of %s fits %s sizes of request: it lies in each draw, not in some requests",
			display.Figure(common), display.Of(fit, differing))
	}
	return x, y, cause
}

func (s *Method) spreadFinding() whittle.Finding {
	f := s.distributionBase(whittle.FoundSpread, s.Spread.DecidedAt(), s.Spread.eValue(), s.Spread.Single.Rounds)
	t, g := s.widest()
	if g.N == 0 || g.X == 0 {
		f.Summary = "the candidate's responses do not spread as the monolith's do"
		return f
	}
	// The root of the mean squares is what the ratio of two spreads means.
	ratio := math.Sqrt(g.Y / g.X)
	f.Monolith, f.Candidate = "1", display.Figure(ratio)
	where := ""
	if t != nil && s.perName() != "" && t.Key != rawKey && len(s.Strata.Seen) > 1 {
		f.Path = fmt.Sprintf("%s from %s to %s", s.perName(), display.Figure(math.Ldexp(1, t.Key)), display.Figure(math.Ldexp(1, t.Key+1)-1))
		where = ", most of all for " + f.Path
	}
	f.Summary = fmt.Sprintf("the candidate's responses spread %s times as wide as the monolith's%s", display.Figure(ratio), where)
	if root := rootOf(ratio); root != "" && g.N >= 4*enough {
		f.Cause = display.Figure(ratio) + " is " + root
	}
	return f
}

// widest gives the size of request that speaks most for another spread, with
// its distances between responses; nil and those of all sizes where none has
// enough of them.
func (s *Method) widest() (at *stratum, sums gaps) {
	most := 0.0
	var all gaps
	for i := range s.Strata.Seen {
		t := &s.Strata.Seen[i]
		if w := math.Abs(t.Single.Sum) + math.Abs(t.Double.Sum); w > most && t.Gaps.N >= enough {
			most, at = w, t
		}
		all.N += t.Gaps.N
		all.X += t.Gaps.X
		all.Y += t.Gaps.Y
	}
	if at == nil {
		return nil, all
	}
	return at, at.Gaps
}

func (s *Method) distributionFinding(bounds []whittle.Bound) whittle.Finding {
	b := &s.Distribution.Bets
	f := s.distributionBase(whittle.FoundDistribution, b.At, b.EValue(), b.Rounds)
	d := 0.0
	for i := range bounds {
		if bounds[i].What == boundDistribution {
			d = bounds[i].Estimate
		}
	}
	f.Summary = fmt.Sprintf("the two distributions are %s apart: at some threshold the shares of responses below it differ by %s",
		display.Figure(d), display.InPercent(d))
	return f
}

func (s *Method) distributionBase(kind whittle.FindingKind, at int, e float64, rounds int) whittle.Finding {
	return whittle.Finding{
		Kind: kind, Decided: at > 0, DecidedAt: at, EValue: e, Count: rounds, Of: s.N,
		Samples: slices.Clone(s.Evidence.Inliers),
	}
}

// leftOut says how many responses a sentence on the distribution does not speak
// of; empty: it speaks of all.
func (s *Method) leftOut() string {
	w := &s.Wrong
	if w.Y == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of %s responses are left out of this as wrong values", units.Grouped(w.Y), units.Grouped(w.N))
}

func (s *Method) repeatsFindings() []whittle.Finding {
	w := &s.Repeats
	if w.DecidedAt() == 0 && w.eValue() < suspicion {
		return nil
	}
	f := whittle.Finding{
		Kind: whittle.FoundRepeats, Decided: w.DecidedAt() > 0, DecidedAt: w.DecidedAt(), EValue: w.eValue(),
		Count: w.Y, Of: w.N, Samples: slices.Clone(s.Evidence.Repeated),
		Monolith:  fmt.Sprintf("%d of %d", w.X, w.N),
		Candidate: fmt.Sprintf("%d of %d", w.Y, w.N),
	}
	f.Summary = fmt.Sprintf("the candidate gave an earlier response again in %d of %d exchanges, the monolith one of its own in %d",
		w.Y, w.N, w.X)
	if w.SameSecond*10 >= w.Y*8 && w.Y >= fewOutlier {
		f.Cause = fmt.Sprintf("%s came within the same second of the clock as the earlier one: "+
			"a generator seeded with the time in seconds", display.Of(w.SameSecond, w.Y))
	}
	return []whittle.Finding{f}
}

func (s *Method) blankFindings() []whittle.Finding {
	w := &s.Blank
	if w.Y == 0 {
		return nil
	}
	return []whittle.Finding{{
		Kind: whittle.FoundUnreadable, Decided: w.Bets.Decided(), DecidedAt: w.Bets.At, EValue: w.Bets.EValue(),
		Count: w.Y, Of: s.N + w.N, Samples: slices.Clone(w.Samples),
		Monolith:  fmt.Sprintf("%d unreadable", w.X),
		Candidate: fmt.Sprintf("%d unreadable", w.Y),
		Summary: fmt.Sprintf("no number could be read in %d of the candidate's %d responses; in the monolith's in %d",
			w.Y, s.N+w.N, w.X),
	}}
}

// perName is how a request's size is called; empty where nothing is divided.
func (s *Method) perName() string {
	p := strings.Join(strings.Fields(s.c.Per), " ")
	if len(p) > 60 {
		return "per"
	}
	return p
}
