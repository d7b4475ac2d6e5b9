package paired

import (
	"cmp"
	"math"
	"slices"
)

// Sample is some values above zero, sorted, each with how often it occurred.
// The zero value is empty.
type Sample struct {
	values []float64
	below  []int64 // how many values are below values[i]; one more at the end
}

// resolution is how near to each other, as a part of themselves, values are
// taken to be the same.
const resolution = 1e-3

// NewSample takes values above zero in any order and sorts them in place; what
// is not above zero, or no number, is left out. Values within a thousandth of
// each other may become one, at their geometric middle, so that a sample of a
// factor of a million takes at most 14,000 entries however many it is made of.
func NewSample(values []float64) Sample {
	values = slices.DeleteFunc(values, func(v float64) bool { return !(v > 0) || math.IsInf(v, 1) })
	slices.Sort(values)
	const many = 4096
	coarse := len(values) > many
	var s Sample
	for i, v := range values {
		if coarse {
			v = math.Exp((math.Floor(math.Log(v)/resolution) + .5) * resolution)
		}
		if n := len(s.values); n == 0 || s.values[n-1] != v {
			s.values = append(s.values, v)
			s.below = append(s.below, int64(i))
		}
	}
	s.below = append(s.below, int64(len(values)))
	return s
}

// Count is how many values there are.
func (s Sample) Count() int64 {
	if len(s.below) == 0 {
		return 0
	}
	return s.below[len(s.below)-1]
}

// Quantile returns the smallest value that at least a part q of all do not
// exceed; 0 where there is none.
func (s Sample) Quantile(q float64) float64 {
	n := s.Count()
	if n == 0 {
		return 0
	}
	rank := min(max(int64(math.Ceil(q*float64(n))), 1), n)
	i, _ := slices.BinarySearch(s.below, rank)
	return s.values[i-1]
}

// rank is how many values are below v, those equal to it counted half.
func (s Sample) rank(v float64) float64 {
	if len(s.values) == 0 {
		return 0
	}
	i, found := slices.BinarySearch(s.values, v)
	if found {
		return float64(s.below[i]+s.below[i+1]) / 2
	}
	return float64(s.below[i])
}

// Pool puts samples together.
func Pool(samples []Sample) Sample {
	type entry struct {
		value float64
		count int64
	}
	var entries []entry
	for _, s := range samples {
		for i, v := range s.values {
			entries = append(entries, entry{v, s.below[i+1] - s.below[i]})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.value, b.value) })
	out := Sample{below: []int64{0}}
	sum := int64(0)
	for _, e := range entries {
		sum += e.count
		if n := len(out.values); n > 0 && out.values[n-1] == e.value {
			out.below[n] = sum
			continue
		}
		out.values = append(out.values, e.value)
		out.below = append(out.below, sum)
	}
	return out
}

// Blocks are the values of both sides, pair by pair: A[i] and B[i] are a pair.
type Blocks struct {
	a, b       []Sample
	allA, allB Sample
}

// NewBlocks takes as many samples of each side.
func NewBlocks(a, b []Sample) *Blocks { return &Blocks{a, b, Pool(a), Pool(b)} }

// All returns the values of each side together.
func (s *Blocks) All() (a, b Sample) { return s.allA, s.allB }

// Quantile is the figure "quantile q of all values". Its score is by how much
// more of B's block than of A's lies above the two sides' common quantile: the
// pairs' own quantiles, of a few values each, are not used.
func (s *Blocks) Quantile(q float64) Figure { return &quantile{s, q} }

type quantile struct {
	*Blocks
	q float64
}

// Sides returns the quantile of each side; not a number for a side without
// values.
func (f *quantile) Sides() (a, b float64) {
	of := func(s Sample) float64 {
		if s.Count() == 0 {
			return math.NaN()
		}
		return s.Quantile(f.q)
	}
	return of(f.allA), of(f.allB)
}

// Scores is as Figure says.
func (f *quantile) Scores(dst []float64, ratio float64) {
	t := f.common(ratio)
	for i := range dst {
		a := f.q*float64(f.a[i].Count()) - f.a[i].rank(t)
		b := f.q*float64(f.b[i].Count()) - f.b[i].rank(t*ratio)
		dst[i] = b - a
	}
}

// common finds the quantile of A's values and B's divided by ratio together,
// by halving: it does not change when blocks of a pair are swapped.
func (f *quantile) common(ratio float64) float64 {
	low := math.Log(min(f.allA.Quantile(0), f.allB.Quantile(0)/ratio))
	high := math.Log(max(f.allA.Quantile(1), f.allB.Quantile(1)/ratio))
	want := f.q * float64(f.allA.Count()+f.allB.Count())
	for high-low > resolution/64 {
		mid := (low + high) / 2
		if t := math.Exp(mid); f.allA.rank(t)+f.allB.rank(t*ratio) < want {
			low = mid
		} else {
			high = mid
		}
	}
	return math.Exp(high)
}

// Share is a block's part of a mean: CPU time and the requests it was for,
// responses and the seconds they took, errors and requests.
type Share struct{ Sum, Of float64 }

type mean struct {
	a, b       []Share
	allA, allB Share
}

// Mean is the figure "sum over all blocks, per what it is of", of as many
// blocks of each side.
func Mean(a, b []Share) Figure { return meanOf(a, b) }

func meanOf(a, b []Share) *mean {
	add := func(all []Share) (sum Share) {
		for _, s := range all {
			sum.Sum += s.Sum
			sum.Of += s.Of
		}
		return sum
	}
	return &mean{a: a, b: b, allA: add(a), allB: add(b)}
}

// Sides returns the mean of each side; not a number for a side with nothing.
func (f *mean) Sides() (a, b float64) { return f.allA.Sum / f.allA.Of, f.allB.Sum / f.allB.Of }

// Scores is as Figure says: what B's block has above the sides' common mean,
// less what A's has.
func (f *mean) Scores(dst []float64, ratio float64) {
	common := (f.allA.Sum + f.allB.Sum/ratio) / (f.allA.Of + f.allB.Of)
	for i := range dst {
		a := f.a[i].Sum - common*f.a[i].Of
		b := f.b[i].Sum/ratio - common*f.b[i].Of
		dst[i] = b - a
	}
}

// counted is a mean whose sums are counts.
type counted struct{ *mean }

// Counted is Mean for counts of events, such as the errors of requests. It has an
// interval also where one side has no event: the size of that side bounds how
// often events can occur there.
func Counted(a, b []Share) Figure { return counted{meanOf(a, b)} }

// bound returns the interval where one side has none and the test has rejected
// that the two are equal.
func (f counted) bound(t *Test) (low, high float64) {
	if f.allA.Sum > 0 {
		return 0, 1 / t.minRatio(f.b, f.a)
	}
	return t.minRatio(f.a, f.b), math.Inf(1)
}

// minRatio is the low end of the ratio of some's rate to none's, which has no
// count at all. Flipping signs cannot give it, because no factor but 0 turns a
// count into none. It is the rule of three (Hanley and Lippman-Hand 1983): an event
// that was not seen in n independent trials occurs, at an error rate of α, at most
// −ln α times in n.
//
// The trials are none's stretches, not its requests: errors come in bursts, and
// where some request fails all the time, the length of bursts is not known. So
// what is shown is at most 24/3.7, a factor of 6.5, however great the difference
// is. It assumes that none's bursts are no greater than some's. A side that got
// more requests than the other is treated as if it had got as many: bursts may
// depend on time, not on requests.
//
// As the test has rejected 1 itself, the end is never below it.
func (t *Test) minRatio(none, some []Share) float64 {
	hit := make([]bool, t.stretches)
	asked, all := 0.0, 0.0
	for i := range some {
		if some[i].Sum > 0 {
			hit[i*t.stretches/t.pairs] = true
		}
		asked += none[i].Of
		all += some[i].Of
	}
	stretches := 0.0
	for _, h := range hit {
		if h {
			stretches++
		}
	}
	return max(stretches/-math.Log(Alpha/2)*min(asked/all, 1), 1)
}
