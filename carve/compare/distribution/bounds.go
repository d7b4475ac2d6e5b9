package distribution

import (
	"fmt"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// The names of the bounds of the statistical method.
const (
	boundMean         = "mean"
	boundSpread       = "spread"
	boundDistribution = "distribution"
)

// bounds gives the three intervals, each at the confidence 1 - alpha at every number of exchanges at
// once. EQUIVALENT needs all three, so it is wrong only if the interval of the quantity outside its
// margin is wrong. So alpha need not be split (an intersection-union test, Berger 1982).
func (s *Method) bounds(alpha float64) []whittle.Bound {
	m := s.c.Margin
	list := []whittle.Bound{s.meanBound(m.Mean, alpha), s.spreadBound(m.Spread, alpha), s.distributionBound(m.Distribution, alpha)}
	for i := range list {
		list[i].Summary += s.leftOut()
		list[i].More = missing(&list[i], s.N)
	}
	return list
}

// missing estimates how many more exchanges bring a bound inside its margin.
func missing(b *whittle.Bound, n int) int {
	room, width := b.MarginHigh-b.Estimate, b.High-b.Estimate
	if b.What != boundDistribution {
		room, width = min(room, b.Estimate-b.MarginLow), max(width, b.Estimate-b.Low)
	}
	switch {
	case b.Inside:
		return 0
	case n < 2*warmUp:
		return -1
	}
	return eprocess.More(n, width, room)
}

func (s *Method) meanBound(margin, alpha float64) whittle.Bound {
	b := whittle.Bound{What: boundMean, MarginLow: -margin, MarginHigh: margin}
	b.Estimate, b.Low, b.High = s.MeanSums.Interval(alpha / 2)
	b.Inside = s.MeanSums.Sums.N > 0 && b.Low >= -margin && b.High <= margin
	b.Summary = fmt.Sprintf("the mean differs by %s to %s of the monolith's; %s either way counts as none",
		signed(b.Low), signed(b.High), display.InPercent(margin))
	return b
}

func (s *Method) spreadBound(margin, alpha float64) whittle.Bound {
	b := whittle.Bound{What: boundSpread, MarginLow: 1 / margin, MarginHigh: margin}
	if s.SpreadSums.X <= 0 && s.Distribution.N >= 2*warmUp {
		b.Estimate, b.Low, b.High, b.Inside = 1, 1, 1, true
		b.Summary = "the monolith's responses to like requests do not vary, so there is no spread to compare"
		return b
	}
	b.Estimate, b.Low, b.High = s.SpreadSums.Interval(alpha / 2)
	b.High = min(b.High, 100)
	b.Inside = s.SpreadSums.N > 0 && b.Low >= b.MarginLow && b.High <= margin
	b.Summary = fmt.Sprintf("the candidate spreads %s to %s times as wide as the monolith; %s to %s counts as equal",
		display.Figure(b.Low), display.Figure(b.High), display.Figure(b.MarginLow), display.Figure(margin))
	return b
}

func (s *Method) distributionBound(margin, alpha float64) whittle.Bound {
	b := whittle.Bound{What: boundDistribution, MarginHigh: margin}
	b.Estimate, b.Low, b.High = s.Distribution.interval(alpha / 2)
	b.Inside = s.Distribution.N > 0 && b.High <= margin
	b.Summary = fmt.Sprintf("the two distributions are at most %s apart, by the share of responses below any of %d thresholds; %s counts as none",
		display.Figure(b.High), borders, display.Figure(margin))
	return b
}

func signed(f float64) string {
	if f > 0 {
		return "+" + display.InPercent(f)
	}
	return display.InPercent(f)
}
