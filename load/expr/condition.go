package expr

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"

	"whittle/internal/units"
)

// Datum is what a condition computes with. Kind kindNull: nothing is there.
type Datum struct {
	Kind Kind
	Num  float64
	Text string
}

// Evaluation is what a condition looks at: a virtual user's variables, a
// report's figures or a value of a JSON body, by where the condition stands.
type Evaluation struct {
	Scope  *Scope
	Figure func(name string) (float64, bool)
	item   *Document
}

// Condition is a compiled expression.
type Condition func(*Evaluation) Datum

// NumberDatum makes a number to compute with.
func NumberDatum(f float64) Datum { return Datum{Kind: KindNumber, Num: f} }

// BoolDatum makes a truth value.
func BoolDatum(b bool) Datum {
	if b {
		return Datum{Kind: KindBool, Num: 1, Text: "true"}
	}
	return Datum{Kind: KindBool, Text: "false"}
}

// DatumOf gives a variable's value the type that its JSON has.
func DatumOf(v Value) Datum {
	if v.JSON == "" {
		return Datum{}
	}
	switch v.JSON[0] {
	case '"':
		return Datum{Kind: KindString, Text: v.Text}
	case 't', 'f':
		return BoolDatum(v.JSON == "true")
	case 'n':
		return Datum{}
	case '{', '[':
		return Datum{Kind: KindMap, Text: v.Text}
	}
	f, err := strconv.ParseFloat(v.JSON, 64)
	if err != nil {
		return Datum{Kind: KindString, Text: v.Text}
	}
	return Datum{Kind: KindNumber, Num: f, Text: v.Text}
}

// Truth is JavaScript's: zero, an empty text and nothing are false.
func (d Datum) Truth() bool {
	switch d.Kind {
	case KindNull:
		return false
	case KindString:
		return d.Text != ""
	case KindBool, KindNumber:
		return d.Num != 0 && !math.IsNaN(d.Num)
	}
	return true
}

// number is the value as one, NaN where it is none.
func (d Datum) number() float64 {
	switch d.Kind {
	case KindBool, KindNumber:
		return d.Num
	case KindString:
		return numberOf(d.Text)
	}
	return math.NaN()
}

// numberOf is the number that JavaScript makes of a text, NaN where it makes none.
func numberOf(text string) float64 {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return 0
	case len(text) > 2 && text[0] == '0' && strings.IndexByte("xXoObB", text[1]) >= 0:
		if n, err := strconv.ParseUint(text, 0, 64); err == nil && !strings.Contains(text, "_") {
			return float64(n)
		}
		return math.NaN()
	case strings.ContainsAny(text, "xXnN_") && strings.TrimLeft(text, "+-") != "Infinity":
		return math.NaN() // Go reads inf, nan, 1_0 and fractions by base 16, too
	}
	f, err := strconv.ParseFloat(text, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return math.NaN()
	}
	return f
}

// String is the value as a text, as it is compared and joined.
func (d Datum) String() string {
	if d.Kind == KindNumber && d.Text == "" {
		return units.Plain(d.Num)
	}
	return d.Text
}

// compare orders two values: as numbers where either is one, else as texts.
// False: they cannot be compared.
func compare(a, b Datum) (int, bool) {
	if a.Kind == KindNull || b.Kind == KindNull {
		return 0, a.Kind == b.Kind
	}
	if a.Kind != KindNumber && a.Kind != KindBool && b.Kind != KindNumber && b.Kind != KindBool {
		return cmp.Compare(a.String(), b.String()), true
	}
	x, y := a.number(), b.number()
	return cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y)
}

// comparison makes the condition for an operator between two others.
func comparison(op string, a, b Condition) Condition {
	holds := map[string]func(int, bool) bool{
		"==": func(c int, ok bool) bool { return ok && c == 0 },
		"!=": func(c int, ok bool) bool { return !ok || c != 0 },
		"<":  func(c int, ok bool) bool { return ok && c < 0 },
		"<=": func(c int, ok bool) bool { return ok && c <= 0 },
		">":  func(c int, ok bool) bool { return ok && c > 0 },
		">=": func(c int, ok bool) bool { return ok && c >= 0 },
	}[op]
	return func(e *Evaluation) Datum { return BoolDatum(holds(compare(a(e), b(e)))) }
}

// typedComparison makes the condition as JMeter's library for JSONPath has it: the left side's
// type decides whether two are equal as numbers or as texts, and only two numbers or two texts
// have an order.
func typedComparison(op string, a, b Condition) Condition {
	if op == "==" || op == "!=" {
		return func(e *Evaluation) Datum { return BoolDatum(typedEqual(a(e), b(e)) == (op == "==")) }
	}
	holds := comparison(op, a, b)
	return func(e *Evaluation) Datum {
		x := a(e).Kind
		if x != b(e).Kind || x != KindNumber && x != KindString {
			return BoolDatum(false)
		}
		return holds(e)
	}
}

func typedEqual(a, b Datum) bool {
	switch {
	case a.Kind == KindNumber && b.Kind == KindString:
		f, err := strconv.ParseFloat(b.Text, 64)
		return err == nil && f == a.Num
	case a.Kind == KindString && b.Kind == KindNumber:
		return a.Text == b.Text
	case a.Kind == KindNumber:
		return b.Kind == KindNumber && a.Num == b.Num
	}
	return a == b
}

// operations are those between two numbers.
var operations = map[string]func(x, y float64) float64{
	"+": func(x, y float64) float64 { return x + y }, "-": func(x, y float64) float64 { return x - y }, "*": func(x, y float64) float64 { return x * y },
	"/": func(x, y float64) float64 { return x / y }, "%": math.Mod,
}

func arithmetic(op string, a, b Condition) Condition {
	compute := operations[op]
	return func(e *Evaluation) Datum {
		l, r := a(e), b(e)
		if op == "+" && (l.Kind == KindString || r.Kind == KindString) {
			s := l.String() + r.String()
			return Datum{Kind: KindString, Text: s[:min(len(s), MaxCaptured)]}
		}
		return NumberDatum(compute(l.number(), r.number()))
	}
}
