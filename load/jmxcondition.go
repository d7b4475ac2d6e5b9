package load

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"whittle"
)

var (
	varsGet     = regexp.MustCompile(`^vars\.get\(\s*(?:"([^"]*)"|'([^']*)')\s*\)`)
	wordOfJEXL  = regexp.MustCompile(`^[A-Za-z_$][\w$.]*`)
	signsOfJEXL = map[string]string{
		"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "&&", "or": "||", "not": "!",
		"true": "true", "false": "false", "div": "/", "mod": "%",
	}
)

// condition compiles an expression of JEXL or JavaScript, as far as it is of
// texts, numbers and variables, comparisons, sums and logic. fixed says that it
// comes to the same at any time.
//
// JMeter replaces variables in the text of an expression before it is parsed;
// here they are operands, so that no value can change what the expression is.
func (j *jmxReader) condition(n *node, src string) (holds condition, fixed bool, err error) {
	if len(src) > maxConditionBytes {
		return nil, false, n.invalid("a condition longer than %d bytes", maxConditionBytes)
	}
	var operands []func(*evaluation) datum
	var out strings.Builder
	fixed = true
	put := func(t template, quoted bool) {
		if _, ok := t.constant(); !ok {
			fixed = false
		}
		fmt.Fprintf(&out, " v%d ", len(operands))
		operands = append(operands, func(e *evaluation) datum {
			text := string(t.render(nil, e.scope))
			if quoted {
				return datum{kind: kindString, text: text}
			}
			return looseDatum(text)
		})
	}
	for rest := src; rest != ""; {
		size := 1
		switch c := rest[0]; {
		case c == '"' || c == '\'':
			if size = quotedLength(rest); size == 0 {
				return nil, false, n.invalid("a condition with a text without its end: %s", src)
			}
			t, err := j.compile(n, unescape(rest[:size]), asText)
			if err != nil {
				return nil, false, err
			}
			put(t, true)
		case strings.HasPrefix(rest, "${"):
			if size = referenceLength(rest); size == 0 {
				return nil, false, n.invalid("${ without } in %s", src)
			}
			t, err := j.compile(n, rest[:size], asText)
			if err != nil {
				return nil, false, err
			}
			put(t, false)
		case varsGet.MatchString(rest):
			at := varsGet.FindStringSubmatch(rest)
			size = len(at[0])
			t, err := j.compile(n, "${"+at[1]+at[2]+"}", asText)
			if err != nil {
				return nil, false, err
			}
			put(t, false)
		case wordOfJEXL.MatchString(rest):
			w := wordOfJEXL.FindString(rest)
			size = len(w)
			sign, ok := signsOfJEXL[w]
			if !ok {
				return nil, false, n.errorf(whittle.Unsupported, "a condition with %s is not supported: %s", w, src)
			}
			fmt.Fprintf(&out, " %s ", sign)
		default:
			out.WriteByte(c)
		}
		rest = rest[size:]
	}
	holds, err = compileCondition(out.String(), dialectPlan, func(name string) (func(*evaluation) datum, error) {
		i, err := strconv.Atoi(strings.TrimPrefix(name, "v"))
		if err != nil || i < 0 || i >= len(operands) {
			return nil, fmt.Errorf("%s is not known", name)
		}
		return operands[i], nil
	})
	if err != nil {
		return nil, false, n.errorf(whittle.Unsupported, "the condition %s is not supported: %v", src, err)
	}
	return holds, fixed, nil
}

// looseDatum is what a value would be if it stood in the expression's text.
func looseDatum(text string) datum {
	trimmed := strings.TrimSpace(text)
	if f, err := strconv.ParseFloat(trimmed, 64); err == nil {
		return datum{kind: kindNumber, num: f, text: trimmed}
	}
	switch strings.ToLower(trimmed) {
	case "true", "false":
		return boolDatum(strings.EqualFold(trimmed, "true"))
	}
	return datum{kind: kindString, text: text}
}
