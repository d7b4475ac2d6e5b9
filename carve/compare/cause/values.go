package cause

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonscan"
	"whittle/internal/units"
)

// numberMost bounds how many bytes of a number are read, and so the time it takes.
const numberMost = 40

// Of are the causes that turn the monolith's value into the candidate's at a difference. from and to are
// the values, nil where there is none.
func Of(d *jsondiff.Difference, from, to []byte) []Cause {
	if len(from) > display.ValueRead || len(to) > display.ValueRead {
		return nil
	}
	switch d.How {
	case jsondiff.HowBytes, jsondiff.HowSyntax:
		return ofTexts(string(from), string(to))
	case jsondiff.HowLength:
		return ofLists(from, to)
	}
	if p, q := nothings[string(from)], nothings[string(to)]; p != "" && q != "" {
		return []Cause{{nothing, p + " is " + q}}
	}
	p, _ := jsondoc.KindOf(from)
	q, _ := jsondoc.KindOf(to)
	switch {
	case p == jsondoc.Number && q == jsondoc.Number:
		list, _ := ofNumbers(string(from), string(to))
		return list
	case p == jsondoc.String && q == jsondoc.String:
		a, _ := jsondoc.Unquote(nil, from)
		b, _ := jsondoc.Unquote(nil, to)
		return ofTexts(string(a), string(b))
	}
	return nil
}

// nothings name what stands for no value in a service written in another language.
var nothings = map[string]string{
	"": "what is left out", "null": "null", "0": "0", "false": "false", `""`: "an empty string", "[]": "an empty list", "{}": "an empty object",
	`"0001-01-01T00:00:00Z"`: "the zero time",
}

// ofLists are the causes of two lists of different lengths.
func ofLists(from, to []byte) []Cause {
	var p, q []json.RawMessage
	if json.Unmarshal(from, &p) != nil || json.Unmarshal(to, &q) != nil || len(q) == 0 || len(q) >= len(p) {
		return nil
	}
	for i := range q {
		if !bytes.Equal(p[i], q[i]) {
			return nil
		}
	}
	return []Cause{{listCut, strconv.Itoa(len(q))}}
}

// ofTexts are the causes of two different texts.
func ofTexts(a, b string) []Cause {
	if list, ok := ofNumbers(a, b); ok {
		return list
	}
	if list, ok := ofTimes(a, b); ok {
		return list
	}
	if a != b && utf8.ValidString(a) && utf8.ValidString(b) && strings.EqualFold(a, b) { // to which all invalid bytes are one letter
		return []Cause{{letterCase, ""}}
	}
	if short := strings.TrimSuffix(strings.TrimSuffix(b, "..."), "…"); len(short) >= 3 && len(b)+1 < len(a) && strings.HasPrefix(a, short) {
		return []Cause{{textCut, strconv.Itoa(utf8.RuneCountInString(b))}}
	}
	return nil
}

// ofTimes are the causes of two written times; ok is false where one is not a time.
func ofTimes(a, b string) (list []Cause, ok bool) {
	x, errX := time.Parse(time.RFC3339, a)
	y, errY := time.Parse(time.RFC3339, b)
	if errX != nil || errY != nil {
		return nil, false
	}
	_, east := x.Zone()
	_, eastOfY := y.Zone()
	switch off := y.Sub(x); {
	case off == 0 && east != eastOfY:
		list = []Cause{{zone, ""}}
	case off != 0 && off.Abs() <= 26*time.Hour && off%(15*time.Minute) == 0:
		list = []Cause{{shift, fmt.Sprintf("%+g", off.Hours())}}
	}
	return list, true
}

// decimalsOf is how many decimals a number without an exponent has; -1: it is no such number.
func decimalsOf(s string) int {
	if len(s) > numberMost || !jsonscan.IsNumber([]byte(s)) || strings.ContainsAny(s, "eE") {
		return -1
	}
	_, after, _ := strings.Cut(s, ".")
	return len(after)
}

// ofNumbers are the causes of two different numbers; ok is false where one is not a number.
func ofNumbers(a, b string) (list []Cause, ok bool) {
	da, db := decimalsOf(a), decimalsOf(b)
	if da < 0 || db < 0 {
		return nil, false
	}
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	for d := db; d <= db+2 && d < da && x.Cmp(y) != 0; d++ { // zeros at the end may not be written
		list = append(list, roundedAs(x, y, d)...)
	}
	fx, _ := x.Float64()
	fy, _ := y.Float64()
	if x.Cmp(y) != 0 && (math.Abs(fx-fy) <= 0x1p-49*math.Abs(fx) || math.Abs(float64(float32(fx))-fy) <= 0x1p-46*math.Abs(fy)) {
		return []Cause{{binaryFloat, ""}}, true // a few units in the last place of a double, or what a float of 32 bits makes of it
	}
	for _, by := range []int{10, 100, 1000, 1_000_000, 60, 3600, 1024} {
		f := big.NewRat(int64(by), 1)
		switch {
		case x.Sign() == 0 || y.Sign() == 0:
		case new(big.Rat).Mul(x, f).Cmp(y) == 0:
			list = append(list, Cause{factor, "multiplied by " + units.Grouped(by)})
		case new(big.Rat).Mul(y, f).Cmp(x) == 0:
			list = append(list, Cause{factor, "divided by " + units.Grouped(by)})
		}
	}
	if off, _ := new(big.Rat).Sub(y, x).Float64(); off != 0 && math.Abs(off) < 1e9 { // else it is no offset, but another value
		list = append(list, Cause{offset, strconv.FormatFloat(math.Round(off*1e6)/1e6, 'f', -1, 64)})
	}
	return list, true
}

// roundedAs are the ways to round x to y at d decimals, without half up and half even where they cannot
// be told apart.
func roundedAs(x, y *big.Rat, d int) (list []Cause) {
	ten := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d)), nil))
	x, y = new(big.Rat).Mul(x, ten), new(big.Rat).Mul(y, ten)
	if !y.IsInt() {
		return nil
	}
	off := new(big.Rat).Sub(x, y)
	cut := off.Sign()*x.Sign() > 0 // towards zero
	off.Abs(off)
	half := off.Cmp(big.NewRat(1, 2))
	halfUp := half < 0 || half == 0 && !cut
	halfEven := half < 0 || half == 0 && y.Num().Bit(0) == 0
	to := fmt.Sprintf("to %d decimals", d)
	if d == 0 {
		to = "to whole numbers"
	}
	add := func(does string, fits bool) {
		if fits {
			list = append(list, Cause{rounding, does})
		}
	}
	add("rounds "+to, halfUp && halfEven)
	add("rounds "+to+", half up", halfUp)
	add("rounds "+to+", half even", halfEven)
	add("cuts off "+to, cut && off.Cmp(big.NewRat(1, 1)) < 0)
	return list
}
