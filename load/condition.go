package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// datum is what a condition computes with. Kind kindNull: nothing is there.
type datum struct {
	kind kind
	num  float64
	text string
}

// evaluation is what a condition looks at: a virtual user's variables, a
// report's figures or a value of a JSON body, by where the condition stands.
type evaluation struct {
	scope  *scope
	figure func(name string) (float64, bool)
	item   *document
}

// condition is a compiled expression.
type condition func(*evaluation) datum

func numberDatum(f float64) datum { return datum{kind: kindNumber, num: f} }

func boolDatum(b bool) datum {
	if b {
		return datum{kind: kindBool, num: 1, text: "true"}
	}
	return datum{kind: kindBool, text: "false"}
}

// datumOf gives a variable's value the type that its JSON has.
func datumOf(v value) datum {
	if v.json == "" {
		return datum{}
	}
	switch v.json[0] {
	case '"':
		return datum{kind: kindString, text: v.text}
	case 't', 'f':
		return boolDatum(v.json == "true")
	case 'n':
		return datum{}
	case '{', '[':
		return datum{kind: kindMap, text: v.text}
	}
	f, err := strconv.ParseFloat(v.json, 64)
	if err != nil {
		return datum{kind: kindString, text: v.text}
	}
	return datum{kind: kindNumber, num: f, text: v.text}
}

// truth is JavaScript's: zero, an empty text and nothing are false.
func (d datum) truth() bool {
	switch d.kind {
	case kindNull:
		return false
	case kindString:
		return d.text != ""
	case kindBool, kindNumber:
		return d.num != 0 && !math.IsNaN(d.num)
	}
	return true
}

// number is the value as one, NaN where it is none.
func (d datum) number() float64 {
	switch d.kind {
	case kindBool, kindNumber:
		return d.num
	case kindString:
		if f, err := strconv.ParseFloat(d.text, 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

func (d datum) string() string {
	if d.kind == kindNumber && d.text == "" {
		return formatNumber(d.num)
	}
	return d.text
}

// compare orders two values: as numbers where either is one, else as texts.
// False: they cannot be compared.
func compare(a, b datum) (int, bool) {
	if a.kind == kindNull || b.kind == kindNull {
		return 0, a.kind == b.kind
	}
	if a.kind != kindNumber && a.kind != kindBool && b.kind != kindNumber && b.kind != kindBool {
		switch x, y := a.string(), b.string(); {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, true
	}
	x, y := a.number(), b.number()
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return 0, false
	case x < y:
		return -1, true
	case x > y:
		return 1, true
	}
	return 0, true
}

// comparison gives the condition for an operator between two others.
func comparison(op string, a, b condition) condition {
	holds := map[string]func(int, bool) bool{
		"==": func(c int, ok bool) bool { return ok && c == 0 },
		"!=": func(c int, ok bool) bool { return !ok || c != 0 },
		"<":  func(c int, ok bool) bool { return ok && c < 0 },
		"<=": func(c int, ok bool) bool { return ok && c <= 0 },
		">":  func(c int, ok bool) bool { return ok && c > 0 },
		">=": func(c int, ok bool) bool { return ok && c >= 0 },
	}[op]
	return func(e *evaluation) datum { return boolDatum(holds(compare(a(e), b(e)))) }
}

func arithmetic(op string, a, b condition) condition {
	return func(e *evaluation) datum {
		l, r := a(e), b(e)
		x, y := l.number(), r.number()
		switch op {
		case "+":
			if l.kind == kindString || r.kind == kindString {
				s := l.string() + r.string()
				return datum{kind: kindString, text: s[:min(len(s), maxCaptured)]}
			}
			return numberDatum(x + y)
		case "-":
			return numberDatum(x - y)
		case "*":
			return numberDatum(x * y)
		case "/":
			return numberDatum(x / y)
		case "^":
			return numberDatum(math.Pow(x, y))
		}
		return numberDatum(math.Mod(x, y))
	}
}

// conditionFunctions are those of filtrex. Arguments: −1 for any number above
// none.
var conditionFunctions = map[string]struct {
	arguments int
	call      func(args []float64, rng *rand.Rand) float64
}{
	"abs":   {1, func(a []float64, _ *rand.Rand) float64 { return math.Abs(a[0]) }},
	"ceil":  {1, func(a []float64, _ *rand.Rand) float64 { return math.Ceil(a[0]) }},
	"floor": {1, func(a []float64, _ *rand.Rand) float64 { return math.Floor(a[0]) }},
	"log":   {1, func(a []float64, _ *rand.Rand) float64 { return math.Log(a[0]) }},
	"round": {1, func(a []float64, _ *rand.Rand) float64 { return math.Floor(a[0] + .5) }},
	"sqrt":  {1, func(a []float64, _ *rand.Rand) float64 { return math.Sqrt(a[0]) }},
	"max":   {-1, func(a []float64, _ *rand.Rand) float64 { return fold(a, math.Max) }},
	"min":   {-1, func(a []float64, _ *rand.Rand) float64 { return fold(a, math.Min) }},
	"random": {0, func(_ []float64, rng *rand.Rand) float64 {
		if rng == nil {
			return 0
		}
		return rng.Float64()
	}},
}

func fold(a []float64, by func(x, y float64) float64) float64 {
	out := a[0]
	for _, f := range a[1:] {
		out = by(out, f)
	}
	return out
}

func callCondition(name string, args []condition) (condition, error) {
	f, ok := conditionFunctions[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("the function %s is not known", name)
	case f.arguments >= 0 && len(args) != f.arguments, f.arguments < 0 && len(args) == 0:
		return nil, fmt.Errorf("the function %s does not take %d arguments", name, len(args))
	}
	return func(e *evaluation) datum {
		var few [4]float64
		nums := few[:0]
		for _, a := range args {
			nums = append(nums, a(e).number())
		}
		var rng *rand.Rand
		if e.scope != nil {
			rng = e.scope.rng
		}
		return numberDatum(f.call(nums, rng))
	}, nil
}
