package cause

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/units"
)

// numberMost is how many bytes of a number or a time are read, at most. It bounds the time that it takes.
const numberMost = 40

// Of are the causes that fit what makes the candidate's value of the monolith's at a
// difference that in has just given of the two bodies.
func Of(in *jsondiff.Differ, d *jsondiff.Difference, monolith, candidate []byte) []Cause {
	from, to, ok := in.Sides(d)
	if !ok {
		return ofTexts(string(monolith), string(candidate))
	}
	var list []Cause
	if x, y, ok := from.ListWith(&to); ok {
		list = ofLists(texts(from.Doc, x), texts(to.Doc, y))
	}
	if d.How != jsondiff.HowLength && d.How != jsondiff.HowOrder {
		list = append(list, ofValues(from.Text(), to.Text())...)
	}
	return list
}

// only is a list of one cause.
func only(k kind, says string) []Cause { return []Cause{{k, says}} }

// ofValues are the causes of two JSON values that are not the same; nil stands
// for one that is missing.
func ofValues(from, to []byte) (list []Cause) {
	if len(from) > display.ValueRead || len(to) > display.ValueRead {
		return nil
	}
	if p, q := nothingOf(from), nothingOf(to); p != q && p != "" && q != "" {
		list = append(list, Cause{nothing, p + " is " + q})
	}
	p, _ := jsondoc.KindOf(from)
	q, _ := jsondoc.KindOf(to)
	switch {
	case p == jsondoc.Number && q == jsondoc.Number:
		list = append(list, ofNumbers(string(from), string(to))...)
	case p == jsondoc.String && q == jsondoc.String:
		a, _ := jsondoc.Unquote(nil, from)
		b, _ := jsondoc.Unquote(nil, to)
		list = append(list, ofTexts(string(a), string(b))...)
	}
	return list
}

// nothings name what stands for no value, as a service has it that is written in another
// language.
var nothings = map[string]string{
	"": "what is left out", "null": "null", "0": "0", "false": "false", `""`: "an empty string", "[]": "an empty list", "{}": "an empty object",
	`"0001-01-01`: "the zero time", `"1970-01-01`: "the zero time",
}

func nothingOf(v []byte) string {
	text := string(bytes.Join(bytes.Fields(v), nil))
	if len(text) > 2 && text[0] == '"' {
		text = text[:min(len(text), len(`"0001-01-01`))]
	}
	return nothings[text]
}

// ofLists are the causes of two lists that are not the same.
func ofLists(p, q []string) []Cause {
	if 0 < len(q) && len(q) < len(p) && slices.Equal(p[:len(q)], q) {
		return only(listCut, strconv.Itoa(len(q)))
	}
	return nil
}

// texts are the elements of a list as they are written, without white space between tokens; none
// of one that is too long.
func texts(d *jsondoc.Document, array uint32) (list []string) {
	if len(d.Text(array)) <= display.ValueRead {
		for _, n := range d.Elements(array) {
			list = append(list, string(d.Text(n)))
		}
	}
	return list
}

// ofTexts are the causes of two texts that are not the same.
func ofTexts(a, b string) (list []Cause) {
	if a == b || len(a) > display.ValueRead || len(b) > display.ValueRead {
		return nil
	}
	if list, ok := ofTimes(a, b); ok {
		return list
	}
	if isFigure(a) && isFigure(b) {
		return ofFigures(a, b)
	}
	if strings.EqualFold(a, b) {
		list = only(letterCase, "")
	}
	if short := strings.TrimSuffix(strings.TrimSuffix(b, "..."), "…"); len(short) >= 3 && len(b) < len(a) && strings.HasPrefix(a, short) {
		list = append(list, Cause{textCut, strconv.Itoa(utf8.RuneCountInString(b))})
	}
	return list
}

// isFigure reports whether a text is a number.
func isFigure(s string) bool {
	_, _, ok := readRat(s)
	return ok
}

// ofFigures are the causes of numbers in texts. An id or a code, which is digits only, is none
// that one would calculate with.
func ofFigures(a, b string) []Cause {
	isCalculated := func(s string) bool { return strings.ContainsAny(s, ".eE") || len(s) < 10 && s[0] != '0' }
	if !isCalculated(a) || !isCalculated(b) {
		return nil
	}
	return ofNumbers(a, b)
}

// readRat reads a decimal number as it is written; decimals are those after the
// point.
func readRat(s string) (r *big.Rat, decimals int, ok bool) {
	digits, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	if len(s) == 0 || len(s) > numberMost || strings.Trim(digits, "+-.0123456789") != "" || !strings.ContainsAny(digits, "0123456789") {
		return nil, 0, false
	}
	if n, err := strconv.Atoi(exponent); hasExponent && (err != nil || n > numberMost || n < -numberMost) {
		return nil, 0, false
	}
	if r, ok = new(big.Rat).SetString(s); ok && !hasExponent {
		_, after, _ := strings.Cut(digits, ".")
		decimals = len(after)
	}
	return r, decimals, ok
}

// ofNumbers are the causes of two numbers that are not the same.
func ofNumbers(a, b string) (list []Cause) {
	x, dx, okX := readRat(a)
	y, dy, okY := readRat(b)
	if !okX || !okY || x.Cmp(y) == 0 {
		return nil
	}
	fx, _ := x.Float64()
	fy, _ := y.Float64()
	// a few units in the last place of a double, or what a float of 32 bits makes of it
	if math.Abs(fx-fy) <= 0x1p-49*math.Abs(fx) || math.Abs(float64(float32(fx))-fy) <= 0x1p-46*math.Abs(fy) {
		list = only(binaryFloat, "")
	}
	for d := dy; d <= dy+2 && d < dx; d++ {
		list = append(list, roundedAs(x, y, d)...)
	}
	if x.Sign() != 0 && y.Sign() != 0 {
		for _, f := range []int64{10, 100, 1000, 1_000_000, 60, 3600, 1024} {
			by := big.NewRat(f, 1)
			for word, is := range map[string]bool{"multiplied": new(big.Rat).Mul(x, by).Cmp(y) == 0, "divided": new(big.Rat).Mul(y, by).Cmp(x) == 0} {
				if is {
					list = append(list, Cause{factor, word + " by " + units.Grouped(int(f))})
				}
			}
		}
	}
	if diff, _ := new(big.Rat).Sub(y, x).Float64(); math.Abs(diff) < 1e9 { // else it is no offset, but another value
		list = append(list, Cause{offset, strconv.FormatFloat(math.Round(diff*1e6)/1e6, 'f', -1, 64)})
	}
	return list
}

// roundedAs are the ways in which x at d decimals is y. Where half up and half even cannot be told
// apart, it is neither.
func roundedAs(x, y *big.Rat, d int) (list []Cause) {
	ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil))
	scaled, want := new(big.Rat).Mul(x, ten), new(big.Rat).Mul(y, ten)
	if !want.IsInt() {
		return nil
	}
	cut, rest := new(big.Int).QuoRem(scaled.Num(), scaled.Denom(), new(big.Int))
	half := rest.Abs(rest).Lsh(rest, 1).Cmp(scaled.Denom())
	away := new(big.Int).Add(cut, big.NewInt(int64(x.Sign())))
	fits := func(up bool) bool {
		if up {
			return away.Cmp(want.Num()) == 0
		}
		return cut.Cmp(want.Num()) == 0
	}
	to := fmt.Sprintf("to %d decimals", d)
	if d == 0 {
		to = "to whole numbers"
	}
	add := func(does string, fits bool) {
		if fits {
			list = append(list, Cause{rounding, does})
		}
	}
	halfUp, halfEven := fits(half >= 0), fits(half > 0 || half == 0 && cut.Bit(0) == 1)
	add("rounds "+to, halfUp && halfEven)
	add("rounds "+to+", half up", halfUp)
	add("rounds "+to+", half even", halfEven)
	add("cuts off "+to, fits(false))
	return list
}

// clock is a time as it is written: the instant, and the clock's reading as if it were UTC.
type clock struct{ at, wall time.Time }

// clockForms are ways to write a time. A fraction of the second is read by each.
var clockForms = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", time.DateTime, time.DateTime + "Z07:00", time.DateOnly, time.RFC1123, time.RFC1123Z,
}

// readClock reads a date or a time.
func readClock(s string) (c clock, ok bool) {
	if len(s) < len(time.DateOnly) || len(s) > numberMost {
		return c, false
	}
	for _, form := range clockForms {
		if at, err := time.Parse(form, s); err == nil && at.Year() >= 1 {
			_, east := at.Zone()
			return clock{at, at.UTC().Add(time.Duration(east) * time.Second)}, true
		}
	}
	return c, false
}

// shiftsMost is the most that two time zones are apart.
const shiftsMost = 26 * time.Hour

// ofTimes are the causes of two written times; ok is false where one is none.
func ofTimes(a, b string) (list []Cause, ok bool) {
	x, okX := readClock(a)
	y, okY := readClock(b)
	if !okX || !okY {
		return nil, false
	}
	switch off := y.at.Sub(x.at); {
	case off == 0 && !x.wall.Equal(y.wall):
		list = only(zone, "")
	case off != 0 && off.Abs() <= shiftsMost && off%(15*time.Minute) == 0 && !x.wall.Equal(y.wall):
		list = only(shift, fmt.Sprintf("%+g", off.Hours()))
	}
	return list, true
}
