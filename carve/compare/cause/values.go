package cause

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/jsondoc"
	"whittle/internal/jsonscan"
)

// numberMost is how many bytes of a number are read, at most. It bounds the time that it takes.
const numberMost = 40

// Of are the causes that fit what makes the candidate's value of the monolith's at a difference. from
// and to are what stands there, nil where nothing does.
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

// ofTexts are the causes of two texts that are not the same.
func ofTexts(a, b string) []Cause {
	if list, ok := ofNumbers(a, b); ok {
		return list
	}
	if short := strings.TrimSuffix(strings.TrimSuffix(b, "..."), "…"); len(short) >= 3 && len(b)+1 < len(a) && strings.HasPrefix(a, short) {
		return []Cause{{textCut, strconv.Itoa(utf8.RuneCountInString(b))}}
	}
	return nil
}

// decimalsOf is how many decimals a number has that is written without an exponent; -1: it is none.
func decimalsOf(s string) int {
	if len(s) > numberMost || !jsonscan.IsNumber([]byte(s)) || strings.ContainsAny(s, "eE") {
		return -1
	}
	_, after, _ := strings.Cut(s, ".")
	return len(after)
}

// ofNumbers are the ways in which the candidate may have rounded the monolith's number; ok is false
// where one is none.
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
	return list, true
}

// roundedAs are the ways in which x at d decimals is y. Where half up and half even cannot be told
// apart, it is neither.
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
