package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"whittle"
)

// functionCall is a ${__name(arguments)} as it is written.
type functionCall struct {
	at   *node
	name string
	raw  string     // the text between ${ and }, without the underscores
	args []template // each as a text
}

// fixed gives an argument that must be known before the run; other where it is
// absent or empty.
func (c *functionCall) fixed(i int, other string) (string, error) {
	if i >= len(c.args) {
		return other, nil
	}
	text, ok := c.args[i].constant()
	if !ok {
		return "", c.at.errorf(whittle.Unsupported, "${__%s}: an argument that varies during the run is not supported there", c.raw)
	}
	if text = strings.TrimSpace(text); text == "" {
		return other, nil
	}
	return text, nil
}

// jmxFunctions are those that run.
var jmxFunctions map[string]func(*jmxReader, *functionCall) (expression, error)

func init() {
	jmxFunctions = map[string]func(*jmxReader, *functionCall) (expression, error){
		"P":               func(j *jmxReader, c *functionCall) (expression, error) { return j.property(c, 1, "1") },
		"property":        func(j *jmxReader, c *functionCall) (expression, error) { return j.property(c, 2, "") },
		"Random":          (*jmxReader).randomNumber,
		"RandomString":    (*jmxReader).randomText,
		"UUID":            func(*jmxReader, *functionCall) (expression, error) { return expression{eval: uuidValue}, nil },
		"time":            (*jmxReader).time,
		"threadNum":       (*jmxReader).threadNumber,
		"threadGroupName": (*jmxReader).groupName,
		"TestPlanName":    func(j *jmxReader, _ *functionCall) (expression, error) { return fixedText(j.title), nil },
		"counter":         (*jmxReader).counter,
		"CSVRead":         (*jmxReader).csvRead,
		"intSum":          (*jmxReader).sum,
		"longSum":         (*jmxReader).sum,
		"urlencode":       (*jmxReader).encodeURL,
		"jexl2":           (*jmxReader).jexl,
		"jexl3":           (*jmxReader).jexl,
	}
}

const functionWords = "__P, __property, __Random, __RandomString, __UUID, __time, __threadNum, __threadGroupName, __TestPlanName, __counter, __CSVRead, __intSum, __longSum, __urlencode, __jexl2, __jexl3"

func uuidValue(s *scope) value { return textValue(uuid(s.rng)) }

func fixedText(text string) expression {
	v := textValue(text)
	return expression{fixed: &v}
}

// function compiles a call; inner is what follows the two underscores.
func (j *jmxReader) function(n *node, inner string, depth int) (expression, error) {
	c := &functionCall{at: n, raw: inner, name: strings.TrimSpace(inner)}
	if open := strings.IndexByte(inner, '('); open >= 0 {
		end := strings.LastIndexByte(inner, ')')
		if end < open {
			return expression{}, n.invalid("${__%s}: ( without )", inner)
		}
		c.name = strings.TrimSpace(inner[:open])
		for _, a := range splitArguments(inner[open+1 : end]) {
			t, err := j.compound(n, a, asText, depth+1)
			if err != nil {
				return expression{}, err
			}
			c.args = append(c.args, t)
		}
	}
	f, ok := jmxFunctions[c.name]
	if !ok {
		why := "known are " + functionWords
		switch strings.ToLower(c.name) {
		case "groovy", "beanshell", "javascript", "bsf", "jsr223":
			why = "it is a script, and whittle runs the declarative parts of a plan only"
		}
		return expression{}, n.errorf(whittle.Unsupported, "the function __%s is not supported: %s", c.name, why)
	}
	return f(j, c)
}

// splitArguments splits at commas that are not escaped and not within a ${…}.
func splitArguments(s string) []string {
	var out []string
	begin := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case strings.HasPrefix(s[i:], "${"):
			i += max(referenceLength(s[i:]), 1) - 1
		case s[i] == ',':
			out = append(out, s[begin:i])
			begin = i + 1
		}
	}
	if begin == 0 && s == "" {
		return nil
	}
	return append(out, s[begin:])
}

// functionVariables finds the variables that calls of functions fill.
var functionVariables = regexp.MustCompile(`\$\{__(Random|RandomString|time|counter|intSum|longSum|jexl2|jexl3)\([^(){}]*,\s*([A-Za-z_]\w*)\s*\)\}`)

func (j *jmxReader) property(c *functionCall, fallback int, other string) (expression, error) {
	name, err := c.fixed(0, "")
	if err != nil {
		return expression{}, err
	}
	if v, ok := j.source.Properties[name]; ok {
		return fixedText(v), nil
	}
	other, err = c.fixed(fallback, other)
	return fixedText(other), err
}

func (j *jmxReader) randomNumber(c *functionCall) (expression, error) {
	if len(c.args) < 2 || len(c.args) > 3 {
		return expression{}, c.at.invalid("${__%s}: takes the least and the greatest number, and a variable", c.raw)
	}
	name, err := c.fixed(2, "")
	if err != nil {
		return expression{}, err
	}
	low, high := c.args[0], c.args[1]
	a, fixedLow := low.constant()
	b, fixedHigh := high.constant()
	if fixedLow && fixedHigh {
		if _, _, err := twoNumbers([]string{strings.TrimSpace(a), strings.TrimSpace(b)}); err != nil {
			return expression{}, c.at.invalid("${__%s}: %v", c.raw, err)
		}
	}
	return expression{eval: j.storing(name, func(s *scope) value {
		a, b := wholeOf(low, s), wholeOf(high, s)
		return numberValue(a + s.rng.Int64N(max(b-a, 0)+1))
	})}, nil
}

// wholeOf renders a whole number within what JSON holds exactly; what is none
// counts as 0.
func wholeOf(t template, s *scope) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(string(t.render(nil, s))), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, -maxRandom), maxRandom)
}

func (j *jmxReader) randomText(c *functionCall) (expression, error) {
	text, err := c.fixed(0, "")
	if err != nil {
		return expression{}, err
	}
	size, err := strconv.Atoi(text)
	if err != nil || size < 0 || size > 1<<16 {
		return expression{}, c.at.invalid("${__%s}: takes a length from 0 to 65536, characters and a variable", c.raw)
	}
	letters, err := c.fixed(1, "")
	if err != nil {
		return expression{}, err
	}
	name, err := c.fixed(2, "")
	if err != nil {
		return expression{}, err
	}
	if letters == "" {
		return expression{eval: j.storing(name, func(s *scope) value { return textValue(randomString(s.rng, size)) })}, nil
	}
	from := []rune(letters)
	return expression{eval: j.storing(name, func(s *scope) value { return textValue(drawn(s.rng, from, size)) })}, nil
}

func drawn(rng *rand.Rand, from []rune, n int) string {
	b := make([]byte, 0, n)
	for range n {
		b = utf8.AppendRune(b, from[rng.IntN(len(from))])
	}
	return string(b)
}

func (j *jmxReader) time(c *functionCall) (expression, error) {
	format, err := c.fixed(0, "")
	if err != nil {
		return expression{}, err
	}
	name, err := c.fixed(1, "")
	if err != nil {
		return expression{}, err
	}
	shape := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	named := map[string]string{"YMD": "yyyyMMdd", "HMS": "HHmmss", "YMDHMS": "yyyyMMdd-HHmmss"}
	if pattern, ok := named[format]; ok {
		format = pattern
	}
	if rest, ok := strings.CutPrefix(format, "/"); ok {
		by, err := strconv.ParseInt(rest, 10, 64)
		if err != nil || by < 1 {
			return expression{}, c.at.invalid("${__%s}: a divisor is a whole number above 0", c.raw)
		}
		shape = func(t time.Time) string { return strconv.FormatInt(t.UnixMilli()/by, 10) }
	} else if format != "" {
		var ok bool
		if shape, ok = dated(format); !ok {
			return expression{}, c.at.errorf(whittle.Unsupported, "${__%s}: the date format %q is not supported", c.raw, format)
		}
	}
	return expression{eval: j.storing(name, func(s *scope) value { return textValue(shape(s.member.now())) })}, nil
}

// now is the clock of the user's run.
func (m *member) now() time.Time {
	if m == nil {
		return time.Now() // of a scope outside a run
	}
	return m.run.now()
}

func (j *jmxReader) threadNumber(*functionCall) (expression, error) {
	return expression{eval: func(s *scope) value { return numberValue(int64(s.member.number) + 1) }}, nil
}

func (j *jmxReader) groupName(*functionCall) (expression, error) {
	return expression{eval: func(s *scope) value { return textValue(s.member.crowd.name) }}, nil
}

// counter counts its own calls: one for each user, or one for all.
func (j *jmxReader) counter(c *functionCall) (expression, error) {
	each, err := c.fixed(0, "FALSE")
	if err != nil {
		return expression{}, err
	}
	name, err := c.fixed(1, "")
	if err != nil {
		return expression{}, err
	}
	perUser := strings.EqualFold(each, "true")
	return expression{eval: j.storing(name, func(s *scope) value {
		if perUser {
			return numberValue(s.member.count(c))
		}
		return numberValue(shared[atomic.Int64](s.member.run, c).Add(1))
	})}, nil
}

// count adds one to a number of the user's own, and gives it.
func (m *member) count(key any) int64 {
	if m.own == nil {
		m.own = map[any]int64{}
	}
	m.own[key]++
	return m.own[key]
}

func (j *jmxReader) sum(c *functionCall) (expression, error) {
	terms, name := c.args, ""
	if n := len(terms); n > 0 {
		// The last argument is a variable where it is no number.
		if text, ok := terms[n-1].constant(); ok {
			if _, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64); err != nil {
				terms, name = terms[:n-1], strings.TrimSpace(text)
			}
		}
	}
	if len(terms) < 2 {
		return expression{}, c.at.invalid("${__%s}: takes two numbers or more", c.raw)
	}
	return j.foldable(terms, name, func(s *scope) value {
		var sum int64
		for _, t := range terms {
			sum += wholeOf(t, s)
		}
		return numberValue(sum)
	}), nil
}

// foldable computes at once what its arguments let it.
func (j *jmxReader) foldable(args []template, name string, eval func(*scope) value) expression {
	for _, a := range args {
		if _, ok := a.constant(); !ok {
			return expression{eval: j.storing(name, eval)}
		}
	}
	if name != "" {
		return expression{eval: j.storing(name, eval)}
	}
	v := eval(&scope{})
	return expression{fixed: &v}
}

func (j *jmxReader) encodeURL(c *functionCall) (expression, error) {
	if len(c.args) != 1 {
		return expression{}, c.at.invalid("${__%s}: takes one text", c.raw)
	}
	return j.foldable(c.args, "", func(s *scope) value {
		return textValue(url.QueryEscape(string(c.args[0].render(nil, s))))
	}), nil
}

// jexl compiles an expression of comparisons and sums; what JEXL knows beyond
// that is refused.
func (j *jmxReader) jexl(c *functionCall) (expression, error) {
	open := strings.IndexByte(c.raw, '(')
	if open < 0 {
		return expression{}, c.at.invalid("${__%s}: takes an expression", c.raw)
	}
	args := splitArguments(c.raw[open+1 : strings.LastIndexByte(c.raw, ')')])
	name, err := c.fixed(1, "")
	if err != nil || len(args) == 0 || len(args) > 2 {
		return expression{}, c.at.invalid("${__%s}: takes an expression and a variable", c.raw)
	}
	holds, fixed, err := j.condition(c.at, strings.ReplaceAll(args[0], `\,`, ","))
	if err != nil {
		return expression{}, err
	}
	eval := func(s *scope) value {
		d := holds(&evaluation{scope: s})
		if d.kind == kindNumber {
			return textValue(jexlNumber(d.num))
		}
		return textValue(d.string())
	}
	if fixed && name == "" {
		return fixedText(eval(&scope{}).text), nil
	}
	return expression{eval: j.storing(name, eval)}, nil
}

func jexlNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < maxRandom {
		return strconv.FormatInt(int64(f), 10)
	}
	return fmt.Sprint(f)
}
