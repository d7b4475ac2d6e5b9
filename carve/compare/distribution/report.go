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

// Report gives the findings and bounds so far, as method does.
func (s *Method) Report(alpha float64) ([]whittle.Finding, []whittle.Bound) {
	bounds := s.bounds(eprocess.Alpha(s.c.Confidence))
	list := slices.Concat(s.wrongFindings(), s.distributionFindings(bounds), s.otherFindings())
	for i := range list {
		list[i].Expected = s.expected(list[i].Kind, list[i].Path)
	}
	return list, bounds
}

// wrongFindings gives one finding per cause of wrong values.
func (s *Method) wrongFindings() []whittle.Finding {
	groups := explain(s.Evidence.Wrong, s.perName())
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

func (s *Method) wrongFinding(g *group, largest bool) whittle.Finding {
	f := whittle.Finding{
		Kind: whittle.FoundWrongValue, Cause: g.cause, Of: s.N, EValue: s.Wrong.Bets.EValue(),
		Path: class(g.values, s.Evidence.Divisors, s.perName()),
	}
	var asked int
	f.Count, asked = s.Evidence.countOf(g.values)
	for _, v := range g.values {
		t := s.Strata.of(v.Key)
		if largest || t.Wrong.X == 0 && len(g.values) >= fewOutlier {
			f.DecidedAt = earlier(f.DecidedAt, s.Wrong.decidedAt(t))
		}
		f.EValue = max(f.EValue, t.Wrong.Peak)
		if len(f.Samples) < display.MaxSamples {
			f.Samples = append(f.Samples, v.Sample...)
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

// earlier is the smaller of two numbers of exchanges, 0 meaning never.
func earlier(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// distributionFindings gives the findings on mean, spread and distribution.
func (s *Method) distributionFindings(bounds []whittle.Bound) (list []whittle.Finding) {
	repeats := s.Repeats.DecidedAt() > 0
	add := func(kind whittle.FindingKind, at int, peak float64, rounds int, tell func(*whittle.Finding)) {
		if at == 0 && peak < eprocess.Suspected {
			return
		}
		f := whittle.Finding{
			Kind: kind, Decided: at > 0, DecidedAt: at, EValue: min(peak, eprocess.EValueCap), Count: rounds, Of: s.N,
			Samples: slices.Clone(s.Evidence.Inliers),
		}
		tell(&f)
		f.Summary += s.leftOut()
		if s.Again.Decided() {
			f.Decided, f.DecidedAt = false, 0
			f.Cause = "the monolith's own second responses are shifted likewise: responses depend on when one asks, so this shows nothing"
		}
		list = append(list, f)
	}
	// Repeats alone move the mean a little and the share of each class of responses. Within the margin
	// of the mean, or without another mean or spread, that is no finding of its own.
	if x, y := s.means(); !repeats || math.Abs(y-x) > s.c.Margin.Mean*math.Abs(x) {
		add(whittle.FoundMean, s.Mean.At, s.Mean.Peak, s.Mean.Rounds, s.tellMean)
	}
	add(whittle.FoundSpread, s.Spread.At, s.Spread.Peak, s.Spread.Rounds, s.tellSpread)
	if d := &s.Distribution; !repeats || len(list) > 0 {
		add(whittle.FoundDistribution, d.At, d.Peak, d.N, func(f *whittle.Finding) {
			apart := bounds[len(bounds)-1].Estimate
			f.Summary = fmt.Sprintf("the two distributions are %s apart: at some threshold the shares of responses below it differ by %s",
				display.Figure(apart), display.InPercent(apart))
		})
	}
	return list
}

func (s *Method) tellMean(f *whittle.Finding) {
	x, y := s.means()
	unit, much := "", ""
	if n := s.perName(); n != "" {
		unit = " per " + n
	}
	switch {
	case x == 0:
	case y/x < 1:
		much = display.InPercent(1-y/x) + " lower: "
	default:
		much = display.InPercent(y/x-1) + " higher: "
	}
	f.Monolith, f.Candidate = display.Figure(x)+unit, display.Figure(y)+unit
	f.Summary = fmt.Sprintf("the candidate's mean is %s%s against %s", much, display.Figure(y), f.Monolith)
}

// means gives both sides' scaled means, each size of request weighed by how exactly its means are known.
func (s *Method) means() (x, y float64) {
	weight := math.SmallestNonzeroFloat64
	for i := range s.Strata {
		t := &s.Strata[i]
		if t.X.N < 2 || t.Y.N < 2 || t.Key == rawKey && len(s.Strata) > 1 {
			continue
		}
		v := t.X.spread()*t.X.spread()/float64(t.X.N) + t.Y.spread()*t.Y.spread()/float64(t.Y.N)
		w := 1 / max(v, 1e-18*max(1e-18, t.X.Mean*t.X.Mean))
		x, y, weight = x+w*t.X.Mean, y+w*t.Y.Mean, weight+w
	}
	return x / weight, y / weight
}

func (s *Method) tellSpread(f *whittle.Finding) {
	// The ratio of two spreads is the root of that of their mean squares.
	f.Monolith, f.Candidate = "1", display.Figure(math.Sqrt(s.Spread.Y/s.Spread.X))
	f.Summary = fmt.Sprintf("the candidate's responses spread %s times as wide as the monolith's", f.Candidate)
}

// leftOut says how many responses a sentence on the distribution leaves out; empty: none.
func (s *Method) leftOut() string {
	w := &s.Wrong
	if w.Y == 0 {
		return ""
	}
	return fmt.Sprintf("; %s of %s responses are left out of this as wrong values", units.Grouped(w.Y), units.Grouped(w.N))
}

// otherFindings are repeats, and responses without a number.
func (s *Method) otherFindings() (list []whittle.Finding) {
	if w := &s.Repeats; w.DecidedAt() > 0 || w.eValue() >= eprocess.Suspected {
		f := whittle.Finding{
			Kind: whittle.FoundRepeats, Decided: w.DecidedAt() > 0, DecidedAt: w.DecidedAt(), EValue: w.eValue(),
			Count: w.Y, Of: w.N, Samples: slices.Clone(s.Evidence.Repeated),
			Monolith: display.Of(w.X, w.N), Candidate: display.Of(w.Y, w.N),
			Summary: fmt.Sprintf("the candidate gave an earlier response again in %d of %d exchanges, the monolith one of its own in %d", w.Y, w.N, w.X),
		}
		if w.SameSecond*10 >= w.Y*8 && w.Y >= fewOutlier {
			f.Cause = display.Of(w.SameSecond, w.Y) + " came within the same second of the clock as the earlier one: a generator seeded with the time in seconds"
		}
		list = append(list, f)
	}
	if w := &s.Blank; w.Y > 0 {
		of := s.N + w.N
		list = append(list, whittle.Finding{
			Kind: whittle.FoundUnreadable, Decided: w.Bets.Decided(), DecidedAt: w.Bets.At, EValue: w.Bets.EValue(),
			Count: w.Y, Of: of, Samples: slices.Clone(w.Samples),
			Monolith: fmt.Sprintf("%d unreadable", w.X), Candidate: fmt.Sprintf("%d unreadable", w.Y),
			Summary: fmt.Sprintf("no number could be read in %d of the candidate's %d responses; in the monolith's in %d", w.Y, of, w.X),
		})
	}
	return list
}

// perName is how a request's size is called; empty where nothing is divided.
func (s *Method) perName() string {
	p := strings.Join(strings.Fields(s.c.Per), " ")
	if len(p) > display.ValueShown {
		return "per"
	}
	return p
}
