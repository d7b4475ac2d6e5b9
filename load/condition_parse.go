package load

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds on one condition.
const (
	maxConditionBytes = 4096
	maxConditionDepth = 64
)

// dialect says how names and texts are written.
type dialect uint8

const (
	// dialectPlan is filtrex, which Artillery uses: "text", 'name', and, or,
	// not, in. JavaScript's && and || are taken as well.
	dialectPlan dialect = iota
	// dialectPath is a JSONPath filter: 'text' and "text", and names that begin
	// with @.
	dialectPath
)

// compileCondition reads an expression; resolve gives a name its meaning.
func compileCondition(src string, d dialect, resolve func(name string) (func(*evaluation) datum, error)) (condition, error) {
	if len(src) > maxConditionBytes {
		return nil, fmt.Errorf("longer than %d bytes", maxConditionBytes)
	}
	words, err := conditionWords(src, d)
	if err != nil {
		return nil, err
	}
	p := conditionParser{words: words, resolve: resolve}
	c, err := p.choice(0)
	if err != nil {
		return nil, err
	}
	if w := p.peek(); w.text != "" {
		return nil, fmt.Errorf("%s is not wanted there", w.text)
	}
	return c, nil
}

type wordKind uint8

const (
	wordOperator wordKind = iota
	wordNumber
	wordText
	wordName
	wordQuotedName
)

type word struct {
	kind wordKind
	text string
}

var (
	numberWord   = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?`)
	planWord     = regexp.MustCompile(`^[A-Za-z_$][\w$]*(?:\.[\w$]+|\[\d+\])*`)
	pathWord     = regexp.MustCompile(`^(?:@(?:\.[\w$-]+|\[\d+\]|\['[^']*'\]|\["[^"]*"\])*|[A-Za-z_]\w*)`)
	operatorWord = regexp.MustCompile(`^(===|!==|==|!=|~=|=~|<=|>=|&&|\|\||[-+*/%^<>!?:(),])`)
)

// conditionWords takes an expression apart.
func conditionWords(src string, d dialect) ([]word, error) {
	var out []word
	for rest := strings.TrimSpace(src); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		c, names := rest[0], planWord
		if d == dialectPath {
			names = pathWord
		}
		switch {
		case c == '"' || c == '\'':
			n := quotedLength(rest)
			if n == 0 {
				return nil, fmt.Errorf("a text without its end: %s", rest)
			}
			w := word{wordText, unescape(rest[:n])}
			if c == '\'' && d == dialectPlan {
				w.kind = wordQuotedName
			}
			out, rest = append(out, w), rest[n:]
		case numberWord.MatchString(rest):
			n := len(numberWord.FindString(rest))
			out, rest = append(out, word{wordNumber, rest[:n]}), rest[n:]
		case names.MatchString(rest):
			n := len(names.FindString(rest))
			out, rest = append(out, word{wordName, rest[:n]}), rest[n:]
		case operatorWord.MatchString(rest):
			op := operatorWord.FindString(rest)
			rest = rest[len(op):]
			if same, ok := map[string]string{"===": "==", "!==": "!=", "=~": "~="}[op]; ok {
				op = same
			}
			out = append(out, word{wordOperator, op})
		default:
			return nil, fmt.Errorf("%q is not understood", rest)
		}
	}
	return out, nil
}

// conditionParser descends from the loosest operator to the tightest.
type conditionParser struct {
	words   []word
	at      int
	resolve func(string) (func(*evaluation) datum, error)
}

func (p *conditionParser) peek() word {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return word{}
}

// take eats one of some operators, words such as "and" included.
func (p *conditionParser) take(ops ...string) (string, bool) {
	w := p.peek()
	if (w.kind == wordOperator || w.kind == wordName) && w.text != "" && slices.Contains(ops, w.text) {
		p.at++
		return w.text, true
	}
	return "", false
}

func (p *conditionParser) want(op string) error {
	if _, ok := p.take(op); !ok {
		return fmt.Errorf("%s is wanted before %q", op, p.peek().text)
	}
	return nil
}

// choice is a ? b : c.
func (p *conditionParser) choice(depth int) (condition, error) {
	if depth > maxConditionDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxConditionDepth)
	}
	cond, err := p.binary(0, depth)
	if err != nil {
		return nil, err
	}
	if _, ok := p.take("?"); !ok {
		return cond, nil
	}
	yes, err := p.choice(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.want(":"); err != nil {
		return nil, err
	}
	no, err := p.choice(depth + 1)
	return func(e *evaluation) datum {
		if cond(e).truth() {
			return yes(e)
		}
		return no(e)
	}, err
}

// conditionLevels are the operators between two operands, the loosest first.
var conditionLevels = [][]string{
	{"or", "||"},
	{"and", "&&"},
	{"==", "!=", "<", "<=", ">", ">=", "~=", "in", "not"},
	{"+", "-"},
	{"*", "/", "%", "mod"},
	{"^"},
}

func (p *conditionParser) binary(level, depth int) (condition, error) {
	if level == len(conditionLevels) {
		return p.unary(depth)
	}
	left, err := p.binary(level+1, depth)
	for err == nil {
		op, ok := p.take(conditionLevels[level]...)
		if !ok {
			return left, nil
		}
		left, err = p.operate(op, left, level, depth)
	}
	return nil, err
}

func (p *conditionParser) operate(op string, left condition, level, depth int) (condition, error) {
	switch op {
	case "in":
		return p.among(left, true, depth)
	case "not":
		if err := p.want("in"); err != nil {
			return nil, err
		}
		return p.among(left, false, depth)
	}
	right, err := p.binary(level+1, depth)
	if err != nil {
		return nil, err
	}
	switch op {
	case "or", "||":
		return func(e *evaluation) datum { return boolDatum(left(e).truth() || right(e).truth()) }, nil
	case "and", "&&":
		return func(e *evaluation) datum { return boolDatum(left(e).truth() && right(e).truth()) }, nil
	case "~=":
		return p.matches(left, right)
	case "==", "!=", "<", "<=", ">", ">=":
		return comparison(op, left, right), nil
	}
	return arithmetic(op, left, right), nil
}

// matches is a ~= "pattern": the pattern is known when the plan is read.
func (p *conditionParser) matches(left, right condition) (condition, error) {
	if last := p.words[p.at-1]; last.kind != wordText {
		return nil, fmt.Errorf("~= wants a text after it")
	}
	rx, err := compilePattern(right(&evaluation{}).text, "")
	if err != nil {
		return nil, err
	}
	return func(e *evaluation) datum { return boolDatum(rx.MatchString(left(e).string())) }, nil
}

// among is x in (a, b, c).
func (p *conditionParser) among(left condition, wanted bool, depth int) (condition, error) {
	if err := p.want("("); err != nil {
		return nil, err
	}
	items, err := p.arguments(depth)
	return func(e *evaluation) datum {
		x := left(e)
		for _, item := range items {
			if c, ok := compare(x, item(e)); ok && c == 0 {
				return boolDatum(wanted)
			}
		}
		return boolDatum(!wanted)
	}, err
}

// arguments reads a list up to its closing parenthesis.
func (p *conditionParser) arguments(depth int) ([]condition, error) {
	var out []condition
	if _, ok := p.take(")"); ok {
		return nil, nil
	}
	for {
		c, err := p.choice(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if _, ok := p.take(","); !ok {
			return out, p.want(")")
		}
	}
}

func (p *conditionParser) unary(depth int) (condition, error) {
	if depth > maxConditionDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxConditionDepth)
	}
	if op, ok := p.take("-", "!", "not"); ok {
		c, err := p.unary(depth + 1)
		if op == "-" {
			return func(e *evaluation) datum { return numberDatum(-c(e).number()) }, err
		}
		return func(e *evaluation) datum { return boolDatum(!c(e).truth()) }, err
	}
	return p.operand(depth)
}

func (p *conditionParser) operand(depth int) (condition, error) {
	w := p.peek()
	p.at++
	switch w.kind {
	case wordNumber:
		f, err := strconv.ParseFloat(w.text, 64)
		return func(*evaluation) datum { return numberDatum(f) }, err
	case wordText:
		d := datum{kind: kindString, text: w.text}
		return func(*evaluation) datum { return d }, nil
	case wordQuotedName:
		return p.resolve(w.text)
	case wordName:
		if w.text == "true" || w.text == "false" {
			d := boolDatum(w.text == "true")
			return func(*evaluation) datum { return d }, nil
		}
		if _, ok := p.take("("); ok {
			args, err := p.arguments(depth)
			if err != nil {
				return nil, err
			}
			return callCondition(w.text, args)
		}
		return p.resolve(w.text)
	}
	if w.text != "(" {
		return nil, fmt.Errorf("a value is wanted before %q", w.text)
	}
	c, err := p.choice(depth + 1)
	if err != nil {
		return nil, err
	}
	return c, p.want(")")
}

// compilePattern reads a JavaScript regular expression with its flags, as far
// as RE2 has the same: no look-around, no back-references.
func compilePattern(src, flags string) (*regexp.Regexp, error) {
	if len(src) > maxConditionBytes {
		return nil, fmt.Errorf("a pattern longer than %d bytes", maxConditionBytes)
	}
	inline := ""
	for _, f := range flags {
		switch f {
		case 'i', 'm', 's':
			inline += string(f)
		case 'g', 'u', 'd', 'v':
			// The first match is taken, and text is Unicode, in any case.
		default:
			return nil, fmt.Errorf("the flag %q is not known", f)
		}
	}
	if inline != "" {
		src = "(?" + inline + ")" + src
	}
	rx, err := regexp.Compile(src)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not understood (look-around and back-references are not supported): %w", err)
	}
	return rx, nil
}
