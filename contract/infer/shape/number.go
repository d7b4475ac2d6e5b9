package shape

import (
	"math"
	"strconv"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/document"
)

// doubleHolds reports whether a number that is read as a double and written
// again is the same number.
func doubleHolds(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	return document.Canonical(strconv.FormatFloat(f, 'g', -1, 64)) == document.Canonical(number)
}

// exactly is the largest integer up to which doubles have them all.
const exactly = 1 << 53

// Numbers is what was seen of the numbers at one place.
type Numbers struct {
	N int
	// fractions counts those that are written with a point or an exponent,
	// wide the integers that neither int64 nor uint64 holds.
	fractions, wide int
	// Lossy counts those that no double holds.
	Lossy int
	// low and high are the range of the integers that 64 bits hold; over says
	// that high is beyond int64.
	low      int64
	high     uint64
	Negative bool
	Ints     int
	// min and max are the range of all, as doubles.
	min, max float64
	// Places is the most digits after the point.
	Places int
	// Epochs counts those that are Unix times of this century's first decades,
	// in seconds or milliseconds.
	Epochs int
}

// See takes one number, as it was written.
func (s *Numbers) See(text string) {
	f, _ := strconv.ParseFloat(text, 64)
	one := Numbers{N: 1, min: f, max: f}
	if !doubleHolds(text) {
		one.Lossy = 1
	}
	if isEpoch(f) {
		one.Epochs = 1
	}
	if strings.ContainsAny(text, ".eE") {
		one.fractions, one.Places = 1, decimalPlaces(text)
	} else if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		one.Ints, one.low, one.high, one.Negative = 1, i, uint64(max(i, 0)), i < 0
	} else if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		one.Ints, one.low, one.high = 1, math.MaxInt64, u
	} else {
		one.wide = 1
	}
	s.Absorb(&one)
}

// Absorb takes all that o has seen.
func (s *Numbers) Absorb(o *Numbers) {
	if o.N == 0 {
		return
	}
	if s.N == 0 {
		*s = *o
		return
	}
	s.N += o.N
	s.fractions += o.fractions
	s.wide += o.wide
	s.Lossy += o.Lossy
	if o.Ints > 0 && (s.Ints == 0 || o.low < s.low) {
		s.low = o.low
	}
	s.Ints += o.Ints
	s.high = max(s.high, o.high)
	s.Negative = s.Negative || o.Negative
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	s.Places = max(s.Places, o.Places)
	s.Epochs += o.Epochs
}

func isEpoch(f float64) bool {
	const from, to = 946_684_800, 2_208_988_800 // the years 2000 to 2040
	return f >= from && f <= to || f >= from*1000 && f <= to*1000
}

func decimalPlaces(text string) int {
	_, after, ok := strings.Cut(text, ".")
	if !ok {
		return 0
	}
	if i := strings.IndexAny(after, "eE"); i >= 0 {
		after = after[:i]
	}
	return len(after)
}

// Headroom is how many times larger than what was seen an int32 must be able to
// hold: a total that wraps one day is worse than a wide number.
const Headroom = 1000

// Kind is the narrowest type that holds all of the numbers and leaves room for
// others.
func (s *Numbers) Kind() contract.Type {
	switch {
	case s.fractions > 0 || s.wide > 0:
		return contract.Double
	case s.high > math.MaxInt64 && s.Negative:
		return contract.Double
	case s.high > math.MaxInt64:
		return contract.Uint64
	case s.high <= math.MaxInt32/Headroom && s.low >= math.MinInt32/Headroom:
		return contract.Int32
	}
	return contract.Int64
}
