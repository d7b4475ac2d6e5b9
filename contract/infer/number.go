package infer

import (
	"math"
	"strconv"
	"strings"
)

// canonical gives numbers that stand for the same value the same text: sign,
// digits without zeros at either end, the decimal exponent. An exponent of more
// than nine digits is taken for a value of its own.
func canonical(number string) string {
	sign, rest := "", number
	if r, ok := strings.CutPrefix(rest, "-"); ok {
		sign, rest = "-", r
	}
	exp := 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e := rest[i+1:]
		if len(e) > 10 {
			return number
		}
		n, err := strconv.Atoi(strings.TrimPrefix(e, "+"))
		if err != nil {
			return number
		}
		exp, rest = n, rest[:i]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	digits := whole + fraction
	exp += len(whole)
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	digits = strings.TrimRight(trimmed, "0")
	if digits == "" {
		return "0"
	}
	return sign + digits + "e" + strconv.Itoa(exp)
}

// doubleHolds reports whether a number that is read as a double and written
// again is the same number.
func doubleHolds(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	return canonical(strconv.FormatFloat(f, 'g', -1, 64)) == canonical(number)
}

// exactly is the largest integer up to which doubles have them all.
const exactly = 1 << 53

// numbers is what was seen of the numbers at one place.
type numbers struct {
	n int
	// fractions counts those that are written with a point or an exponent,
	// wide the integers that neither int64 nor uint64 holds.
	fractions, wide int
	// lossy counts those that no double holds.
	lossy int
	// low and high are the range of the integers that 64 bits hold; over says
	// that high is beyond int64.
	low      int64
	high     uint64
	negative bool
	ints     int
	// min and max are the range of all, as doubles.
	min, max float64
	// places is the most digits after the point.
	places int
	// epochs counts those that are Unix times of this century's first decades,
	// in seconds or milliseconds.
	epochs int
}

func (s *numbers) see(text string) {
	f, _ := strconv.ParseFloat(text, 64)
	if s.n == 0 || f < s.min {
		s.min = f
	}
	if s.n == 0 || f > s.max {
		s.max = f
	}
	s.n++
	if !doubleHolds(text) {
		s.lossy++
	}
	if isEpoch(f) {
		s.epochs++
	}
	if strings.ContainsAny(text, ".eE") {
		s.fractions++
		s.places = max(s.places, decimalPlaces(text))
		return
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		s.integer(i, uint64(max(i, 0)), i < 0)
	} else if u, err := strconv.ParseUint(text, 10, 64); err == nil {
		s.integer(math.MaxInt64, u, false)
	} else {
		s.wide++
	}
}

func (s *numbers) integer(low int64, high uint64, negative bool) {
	if s.ints == 0 || low < s.low {
		s.low = low
	}
	s.high = max(s.high, high)
	s.negative = s.negative || negative
	s.ints++
}

func (s *numbers) absorb(o *numbers) {
	if o.n == 0 {
		return
	}
	if s.n == 0 {
		*s = *o
		return
	}
	s.n += o.n
	s.fractions += o.fractions
	s.wide += o.wide
	s.lossy += o.lossy
	if o.ints > 0 && (s.ints == 0 || o.low < s.low) {
		s.low = o.low
	}
	s.ints += o.ints
	s.high = max(s.high, o.high)
	s.negative = s.negative || o.negative
	s.min, s.max = min(s.min, o.min), max(s.max, o.max)
	s.places = max(s.places, o.places)
	s.epochs += o.epochs
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
