package distribution

import (
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// keptMost bounds what is kept: wrong values (a quarter of them of one size of request), values of
// `per`, sizes of request on either side of 1.
const keptMost = 96

// evidence keeps a few exchanges of each sort, to explain and to show.
type evidence struct {
	Wrong    []wrongValue     `json:"wrong"`
	Divisors []divisorTally   `json:"divisors"`
	Repeated []whittle.Sample `json:"repeated"`
	Inliers  []whittle.Sample `json:"inliers"`
}

// wrongValue is an outlying response of the candidate where the monolith's was not.
type wrongValue struct {
	Key int     `json:"key"`
	Per float64 `json:"per"`
	X   float64 `json:"x"`
	Y   float64 `json:"y"`
	// Noise is the monolith's spread for this request, in the response's unit.
	Noise float64 `json:"noise"`
	// Sample is the exchange, for a size's first few.
	Sample []whittle.Sample `json:"sample,omitempty"`
}

// divisorTally counts the exchanges with one value of `per`.
type divisorTally struct {
	Per float64 `json:"per"`
	N   int     `json:"n"`
	// Outlier of N gave a wrong value.
	Outlier int `json:"outliers"`
}

// sized counts the exchange under its divisor, while there is room.
func (e *evidence) sized(per float64, outlier bool) {
	i := slices.IndexFunc(e.Divisors, func(d divisorTally) bool { return d.Per == per })
	if i < 0 {
		if i = len(e.Divisors); i == keptMost {
			return
		}
		e.Divisors = append(e.Divisors, divisorTally{Per: per})
	}
	e.Divisors[i].N++
	e.Divisors[i].Outlier += int(eprocess.Indicator(outlier))
}

// wrong keeps a wrong value, while it and its size of request have room.
func (e *evidence) wrong(show *display.View, x *whittle.Exchange, v wrongValue) {
	alike := 0
	for i := range e.Wrong {
		alike += int(eprocess.Indicator(e.Wrong[i].Key == v.Key))
	}
	if alike >= keptMost/4 || len(e.Wrong) >= keptMost {
		return
	}
	if alike < display.MaxSamples {
		v.Sample = []whittle.Sample{show.SampleAt(x, display.Spot{Where: "the number", From: display.Figure(v.X), To: display.Figure(v.Y)})}
	}
	e.Wrong = append(e.Wrong, v)
}

// countOf counts the exchanges at the divisors of a group's values, and those of them that went wrong.
func (e *evidence) countOf(values []*wrongValue) (outlier, asked int) {
	for _, d := range e.Divisors {
		if slices.ContainsFunc(values, func(v *wrongValue) bool { return v.Per == d.Per }) {
			outlier += d.Outlier
			asked += d.N
		}
	}
	return max(outlier, len(values)), max(asked, len(values))
}

// keepSample keeps an exchange in short while there is room.
func (s *Method) keepSample(list *[]whittle.Sample, x *whittle.Exchange) {
	if len(*list) < display.MaxSamples {
		*list = append(*list, s.show.Sample(x))
	}
}
