package jmeter

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

var (
	varsGet       = regexp.MustCompile(`^vars\.get\(\s*(?:"([^"]*)"|'([^']*)')\s*\)`)
	conditionWord = regexp.MustCompile(`^[A-Za-z_$][\w$.]*`)
)

// operand is a text or a variable in a condition.
type operand struct {
	value  expr.Template
	quoted bool
}

// conditionOf compiles a condition in JavaScript, as far as it is of texts, numbers and
// variables, comparisons, sums and logic, and says what its operands are.
//
// JMeter replaces variables in the text of a condition before it is parsed; here they are
// operands, so that no value can change what the condition is.
func (j *reader) conditionOf(n plan.Position, src string) (holds expr.Condition, written []operand) {
	if len(src) > expr.MaxConditionBytes {
		panic(n.Invalid("a condition longer than %d bytes", expr.MaxConditionBytes))
	}
	var operands []func(*expr.Evaluation) expr.Datum
	var out strings.Builder
	put := func(t expr.Template, quoted bool) {
		written = append(written, operand{t, quoted})
		fmt.Fprintf(&out, " v%d ", len(operands))
		operands = append(operands, func(e *expr.Evaluation) expr.Datum {
			text := t.Text(e.Scope)
			switch {
			case quoted:
				return expr.Datum{Kind: expr.KindString, Text: text}
			case text == "true" || text == "false":
				return expr.BoolDatum(text == "true")
			}
			f, _ := strconv.ParseFloat(text, 64) // it is a number, or the engine has the condition
			return expr.NumberDatum(f)
		})
	}
	for rest := src; rest != ""; {
		size := 1
		switch c := rest[0]; {
		case c == '"' || c == '\'':
			if size = expr.QuotedLength(rest); size == 0 {
				panic(n.Invalid("a condition with a text without its end: %s", src))
			}
			// JMeter reads the references first, and the text's own escapes then.
			quote := rest[:1]
			put(mapped(j.compile(n, rest[1:size-1], expr.AsText), func(text string) string { return expr.Unescape(quote + text + quote) }), true)
		case strings.HasPrefix(rest, "${"):
			if size = referenceLength(rest); size == 0 {
				panic(n.Invalid("${ without } in %s", src))
			}
			put(j.compile(n, rest[:size], expr.AsText), false)
		case varsGet.MatchString(rest):
			at := varsGet.FindStringSubmatch(rest)
			size = len(at[0])
			put(j.compile(n, "${"+at[1]+at[2]+"}", expr.AsText), false)
		case conditionWord.MatchString(rest), c == '^': // which JavaScript has for bits
			w := cmp.Or(conditionWord.FindString(rest), "^")
			if w != "true" && w != "false" {
				panic(n.Errorf(whittle.Unsupported, "a condition with %s is not supported: %s", w, src))
			}
			size = len(w)
			out.WriteString(" " + w + " ")
		default:
			out.WriteByte(c)
		}
		rest = rest[size:]
	}
	holds, err := expr.CompileCondition(out.String(), func(name string) (func(*expr.Evaluation) expr.Datum, error) {
		i, err := strconv.Atoi(strings.TrimPrefix(name, "v"))
		if err != nil || i < 0 || i >= len(operands) {
			return nil, fmt.Errorf("%s is not known", name)
		}
		return operands[i], nil
	})
	if err != nil {
		panic(n.Errorf(whittle.Unsupported, "the condition %s is not supported: %v", src, err))
	}
	return holds, written
}
