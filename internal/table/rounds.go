package table

import (
	"math"
	"slices"
	"time"
)

// Rounds keeps the values of all rounds, by subject and metric, so that
// subjects are compared within a round: what slows the machine then slows both.
type Rounds map[[2]string][]float64

// Rotated is the order of a round's subjects: each round begins with another one, so
// that none always follows the same neighbour or always comes first.
func Rotated[T any](subjects []T, round int) []T {
	if len(subjects) == 0 {
		return nil
	}
	first := round % len(subjects)
	return slices.Concat(subjects[first:], subjects[:first])
}

// InTurn measures each subject once a round, rotated. A round that is not counted comes
// first, to warm up.
func InTurn[T any](subjects []T, rounds int, measure func(x T, counted bool) error) error {
	for round := range rounds + 1 {
		for _, x := range Rotated(subjects, round) {
			if err := measure(x, round > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// Add keeps a value, and makes it a row of t. What is not a number is no row,
// but keeps the subject's later values in their rounds.
func (r Rounds) Add(t *T, subject, metric string, value float64, unit string) {
	t.Add(subject, metric, value, unit)
	key := [2]string{subject, metric}
	r[key] = append(r[key], value)
}

// Median is that of a subject's metric.
func (r Rounds) Median(subject, metric string) float64 { return Median(r[[2]string{subject, metric}]) }

// Conclude adds to a conclusion the median of a subject's metric, and its ratio to that of
// each base.
func (r Rounds) Conclude(to *Results, subject, metric, unit string, bases ...string) {
	to.Conclude(subject, metric+"_median", r.Median(subject, metric), unit)
	for _, base := range bases {
		to.Conclude(subject, metric+"_to_"+base, r.Ratio(metric, subject, base), "x")
	}
}

// Ratio returns the median over the rounds of one subject's value over another's
// in the same round.
func (r Rounds) Ratio(metric, subject, base string) float64 {
	return Median(r.zip(metric, subject, base, func(x, y float64) float64 { return x / y }))
}

// Difference is the same of one subject's value less another's.
func (r Rounds) Difference(metric, subject, base string) float64 {
	return Median(r.zip(metric, subject, base, func(x, y float64) float64 { return x - y }))
}

func (r Rounds) zip(metric, subject, base string, f func(x, y float64) float64) (c []float64) {
	a, b := r[[2]string{subject, metric}], r[[2]string{base, metric}]
	for i := range min(len(a), len(b)) {
		c = append(c, f(a[i], b[i]))
	}
	return c
}

// Median leaves out what is not a number; that of none is not a number, which a
// table leaves out.
func Median(v []float64) float64 {
	v = slices.DeleteFunc(slices.Sorted(slices.Values(v)), math.IsNaN)
	n := len(v)
	if n == 0 {
		return math.NaN()
	}
	return (v[(n-1)/2] + v[n/2]) / 2
}

// Quarters are the medians of a series' first and of its last quarter; false: it is too
// short.
func Quarters(v []float64) (first, last float64, ok bool) {
	n := len(v) / 4
	if n == 0 {
		return 0, 0, false
	}
	return Median(v[:n]), Median(v[len(v)-n:]), true
}

// Quantile is that of sorted times, 0 of none.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

// Micros and Millis are a time in microseconds and milliseconds.
func Micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Millis is a duration in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
