package jexl

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"whittle/load/expr"
)

// textOf is a value as Java writes it.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case *big.Int:
		return v.String()
	case float64:
		return Double(v)
	case string:
		return v
	}
	panic(failure("no text"))
}

// Double writes a number as Java's Double.toString.
func Double(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "Inf", "Infinity", 1), "+")
	case a == 0 || a >= 1e-3 && a < 1e7:
		s := strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	digits, power, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	if !strings.Contains(digits, ".") {
		digits += ".0"
	}
	n, _ := strconv.Atoi(power)
	return digits + "E" + strconv.Itoa(n)
}

// truth is a value as a condition takes it: a text is false where it is empty or "false".
func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case *big.Int:
		return v.Sign() != 0
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != "" && v != "false"
	}
	panic(failure("no condition"))
}

// equal is JEXL's ==.
func equal(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	_, x := a.(bool)
	_, y := b.(bool)
	if x || y {
		return truth(a) == truth(b)
	}
	return compare(a, b) == 0
}

func ordered(sign string, a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil && len(sign) == 2
	}
	switch c := compare(a, b); {
	case c < 0:
		return sign[0] == '<'
	case c > 0:
		return sign[0] == '>'
	}
	return len(sign) == 2
}

// compare orders two values: as numbers where either is one, else as texts.
func compare(a, b any) int {
	_, x := a.(float64)
	_, y := b.(float64)
	if x || y {
		switch f, g := double(a), double(b); {
		case f < g:
			return -1
		case f > g:
			return 1
		}
		return 0
	}
	_, x = a.(*big.Int)
	_, y = b.(*big.Int)
	if x || y {
		return whole(a).Cmp(whole(b))
	}
	_, x = a.(string)
	_, y = b.(string)
	if x || y {
		return strings.Compare(textOf(a), textOf(b))
	}
	panic(failure("values that cannot be compared"))
}

// double is a value as a number with a fraction.
func double(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case *big.Int:
		f, _ := v.Float64()
		return f
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		if v == "" {
			return 0
		}
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f
		}
	}
	panic(failure("no number"))
}

// whole is a value as a whole number.
func whole(v any) *big.Int {
	switch v := v.(type) {
	case *big.Int:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			panic(failure("no whole number"))
		}
		n, _ := big.NewFloat(v).Int(nil)
		return n
	case bool:
		if v {
			return big.NewInt(1)
		}
		return new(big.Int)
	case string:
		if v == "" {
			return new(big.Int)
		}
		if len(v) > maxDigits {
			panic(failure("a number that is too great"))
		}
		if n, ok := new(big.Int).SetString(v, 10); ok {
			return n
		}
	}
	panic(failure("no number"))
}

// fractional are texts that JEXL computes with as with numbers with a fraction.
var fractional = regexp.MustCompile(`^[+-]?\d*(?:\.\d*(?:[eE][+-]?\d+)?|[eE][+-]?\d+)$`)

func isFractional(v any) bool {
	switch v := v.(type) {
	case float64:
		return true
	case string:
		return fractional.MatchString(v)
	}
	return false
}

// Bounds of whole numbers: of those that are computed, and of their texts.
const (
	maxBits   = 4096
	maxDigits = 1200
)

// The operations between two numbers, of those with a fraction and of whole ones.
var (
	onDoubles = map[string]func(x, y float64) float64{
		"+": func(x, y float64) float64 { return x + y }, "-": func(x, y float64) float64 { return x - y }, "*": func(x, y float64) float64 { return x * y },
		"/": func(x, y float64) float64 { return x / y }, "%": math.Mod,
	}
	onWholes = map[string]func(out, x, y *big.Int) *big.Int{
		"+": (*big.Int).Add, "-": (*big.Int).Sub, "*": (*big.Int).Mul, "/": (*big.Int).Quo, "%": (*big.Int).Rem,
		"&": (*big.Int).And, "|": (*big.Int).Or, "^": (*big.Int).Xor,
	}
)

func arithmetic(sign string, a, b any) any {
	if a == nil || b == nil {
		panic(failure("nothing to compute with"))
	}
	if sign == "+" {
		_, x := a.(string)
		_, y := b.(string)
		if x || y {
			return textOf(a) + textOf(b)
		}
	}
	divides := sign == "/" || sign == "%"
	if isFractional(a) || isFractional(b) {
		x, y := double(a), double(b)
		if divides && y == 0 {
			panic(failure("/ by zero"))
		}
		return onDoubles[sign](x, y)
	}
	x, y := whole(a), whole(b)
	switch {
	case x.BitLen()+y.BitLen() > maxBits:
		panic(failure("a number that is too great"))
	case divides && y.Sign() == 0:
		panic(failure("/ by zero"))
	}
	return onWholes[sign](new(big.Int), x, y)
}

// oldSum is the sum of JEXL 2, of texts too where they are numbers.
func oldSum(a, b any) any {
	if a == nil || b == nil {
		panic(failure("nothing to compute with"))
	}
	v, ok := attempt(func() any {
		if isFractional(a) || isFractional(b) {
			return double(a) + double(b)
		}
		return new(big.Int).Add(whole(a), whole(b))
	})
	if !ok {
		return textOf(a) + textOf(b)
	}
	return v
}

func negative(v any) any {
	switch v := v.(type) {
	case *big.Int:
		return new(big.Int).Neg(v)
	case float64:
		return -v
	case bool:
		return !v
	}
	panic(failure("nothing to negate"))
}

func onBits(sign string, a, b any) any {
	if a == nil || b == nil {
		panic(failure("nothing to compute with"))
	}
	return onWholes[sign](new(big.Int), whole(a), whole(b))
}

// within is JEXL's =~, =^ and =$.
func within(sign string, a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch sign {
	case "^":
		return strings.HasPrefix(textOf(a), textOf(b))
	case "$":
		return strings.HasSuffix(textOf(a), textOf(b))
	}
	if all, ok := b.(list); ok {
		for _, v := range all {
			if javaEqual(a, v) {
				return true
			}
		}
		return false
	}
	return matches(textOf(a), textOf(b))
}

// javaEqual is Java's equals: values of different sorts are not.
func javaEqual(a, b any) bool {
	switch x := a.(type) {
	case *big.Int:
		y, ok := b.(*big.Int)
		return ok && x.Cmp(y) == 0
	case bool, float64, string:
		return a == b
	}
	return false
}

// matches is Java's: of the whole text, and a dot is no end of a line.
func matches(text, pattern string) bool {
	rx, err := expr.CompileAnyPattern(`^(?:`+pattern+`)$`, "")
	if err != nil {
		panic(failure("a pattern that cannot be read"))
	}
	return rx.MatchString(text)
}
