package expr

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Bounds on one condition.
const (
	MaxConditionBytes = 4096
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

// CompileCondition reads an expression as plans write it; resolve gives a name
// its meaning.
func CompileCondition(src string, resolve func(name string) (func(*Evaluation) Datum, error)) (Condition, error) {
	return compileIn(dialectPlan, src, resolve)
}

func compileIn(d dialect, src string, resolve func(name string) (func(*Evaluation) Datum, error)) (Condition, error) {
	if len(src) > MaxConditionBytes {
		return nil, fmt.Errorf("longer than %d bytes", MaxConditionBytes)
	}
	words, err := tokenize(src, d)
	if err != nil {
		return nil, err
	}
	p := conditionParser{tokens: words, resolve: resolve}
	c, err := p.ternary(0)
	if err != nil {
		return nil, err
	}
	if w := p.peek(); w.text != "" {
		return nil, fmt.Errorf("%s is not wanted there", w.text)
	}
	return c, nil
}

type tokenKind uint8

const (
	tokenOperator tokenKind = iota
	tokenNumber
	tokenText
	tokenName
	tokenQuotedName
)

type token struct {
	kind tokenKind
	text string
}

var (
	numberToken   = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?`)
	planToken     = regexp.MustCompile(`^[A-Za-z_$][\w$]*(?:\.[\w$]+|\[\d+\])*`)
	pathToken     = regexp.MustCompile(`^(?:@(?:\.[\w$-]+|\[\d+\]|\['[^']*'\]|\["[^"]*"\])*|[A-Za-z_]\w*)`)
	operatorToken = regexp.MustCompile(`^(===|!==|==|!=|~=|=~|<=|>=|&&|\|\||[-+*/%^<>!?:(),])`)
)

// tokenize takes an expression apart.
func tokenize(src string, d dialect) ([]token, error) {
	var out []token
	for rest := strings.TrimSpace(src); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		c, names := rest[0], planToken
		if d == dialectPath {
			names = pathToken
		}
		switch {
		case c == '"' || c == '\'':
			n := QuotedLength(rest)
			if n == 0 {
				return nil, fmt.Errorf("a text without its end: %s", rest)
			}
			w := token{tokenText, Unescape(rest[:n])}
			if c == '\'' && d == dialectPlan {
				w.kind = tokenQuotedName
			}
			out, rest = append(out, w), rest[n:]
		case numberToken.MatchString(rest):
			n := len(numberToken.FindString(rest))
			out, rest = append(out, token{tokenNumber, rest[:n]}), rest[n:]
		case names.MatchString(rest):
			n := len(names.FindString(rest))
			out, rest = append(out, token{tokenName, rest[:n]}), rest[n:]
		case operatorToken.MatchString(rest):
			op := operatorToken.FindString(rest)
			rest = rest[len(op):]
			if same, ok := map[string]string{"===": "==", "!==": "!=", "=~": "~="}[op]; ok {
				op = same
			}
			out = append(out, token{tokenOperator, op})
		default:
			return nil, fmt.Errorf("%q is not understood", rest)
		}
	}
	return out, nil
}

// conditionParser descends from the loosest operator to the tightest.
type conditionParser struct {
	tokens  []token
	at      int
	resolve func(string) (func(*Evaluation) Datum, error)
}

func (p *conditionParser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

// accept consumes the next token where it is one of some operators, words such as
// "and" included.
func (p *conditionParser) accept(ops ...string) (string, bool) {
	w := p.peek()
	if (w.kind == tokenOperator || w.kind == tokenName) && w.text != "" && slices.Contains(ops, w.text) {
		p.at++
		return w.text, true
	}
	return "", false
}

func (p *conditionParser) expect(op string) error {
	if _, ok := p.accept(op); !ok {
		return fmt.Errorf("%s is wanted before %q", op, p.peek().text)
	}
	return nil
}

// ternary is a ? b : c.
func (p *conditionParser) ternary(depth int) (Condition, error) {
	if depth > maxConditionDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxConditionDepth)
	}
	cond, err := p.binary(0, depth)
	if err != nil {
		return nil, err
	}
	if _, ok := p.accept("?"); !ok {
		return cond, nil
	}
	yes, err := p.ternary(depth + 1)
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	no, err := p.ternary(depth + 1)
	return func(e *Evaluation) Datum {
		if cond(e).Truth() {
			return yes(e)
		}
		return no(e)
	}, err
}

// conditionLevels are the operators between two operands, the loosest first.
var conditionLevels = [][]string{
	{"or", "||"},
	{"and", "&&"},
	{"==", "!=", "~=", "in", "not"},
	{"<", "<=", ">", ">="},
	{"+", "-"},
	{"*", "/", "%", "mod"},
	{"^"},
}

func (p *conditionParser) binary(level, depth int) (Condition, error) {
	if level == len(conditionLevels) {
		return p.unary(depth)
	}
	left, err := p.binary(level+1, depth)
	for err == nil {
		op, ok := p.accept(conditionLevels[level]...)
		if !ok {
			return left, nil
		}
		left, err = p.operate(op, left, level, depth)
	}
	return nil, err
}

func (p *conditionParser) operate(op string, left Condition, level, depth int) (Condition, error) {
	switch op {
	case "in":
		return p.in(left, true, depth)
	case "not":
		if err := p.expect("in"); err != nil {
			return nil, err
		}
		return p.in(left, false, depth)
	case "~=":
		return p.matches(left)
	}
	right, err := p.binary(level+1, depth)
	if err != nil {
		return nil, err
	}
	switch op {
	case "or", "||":
		return func(e *Evaluation) Datum { return BoolDatum(left(e).Truth() || right(e).Truth()) }, nil
	case "and", "&&":
		return func(e *Evaluation) Datum { return BoolDatum(left(e).Truth() && right(e).Truth()) }, nil
	case "==", "!=", "<", "<=", ">", ">=":
		return comparison(op, left, right), nil
	}
	return arithmetic(op, left, right), nil
}

// matches is a ~= "pattern", whose text is known when the plan is read.
func (p *conditionParser) matches(left Condition) (Condition, error) {
	pattern := p.peek()
	if p.at++; pattern.kind != tokenText {
		return nil, fmt.Errorf("~= wants a text after it")
	}
	rx, err := CompilePattern(pattern.text, "")
	if err != nil {
		return nil, err
	}
	return func(e *Evaluation) Datum { return BoolDatum(rx.MatchString(left(e).String())) }, nil
}

// in is x in (a, b, c).
func (p *conditionParser) in(left Condition, wanted bool, depth int) (Condition, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	items, err := p.arguments(depth)
	return func(e *Evaluation) Datum {
		x := left(e)
		for _, item := range items {
			if c, ok := compare(x, item(e)); ok && c == 0 {
				return BoolDatum(wanted)
			}
		}
		return BoolDatum(!wanted)
	}, err
}

// arguments reads a list up to its closing parenthesis.
func (p *conditionParser) arguments(depth int) ([]Condition, error) {
	var out []Condition
	if _, ok := p.accept(")"); ok {
		return nil, nil
	}
	for {
		c, err := p.ternary(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
		if _, ok := p.accept(","); !ok {
			return out, p.expect(")")
		}
	}
}

func (p *conditionParser) unary(depth int) (Condition, error) {
	if depth > maxConditionDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxConditionDepth)
	}
	if op, ok := p.accept("-", "!", "not"); ok {
		c, err := p.unary(depth + 1)
		if op == "-" {
			return func(e *Evaluation) Datum { return NumberDatum(-c(e).number()) }, err
		}
		return func(e *Evaluation) Datum { return BoolDatum(!c(e).Truth()) }, err
	}
	return p.operand(depth)
}

func (p *conditionParser) operand(depth int) (Condition, error) {
	w := p.peek()
	p.at++
	switch w.kind {
	case tokenNumber:
		f, err := strconv.ParseFloat(w.text, 64)
		return func(*Evaluation) Datum { return NumberDatum(f) }, err
	case tokenText:
		d := Datum{Kind: KindString, Text: w.text}
		return func(*Evaluation) Datum { return d }, nil
	case tokenQuotedName:
		return p.resolve(w.text)
	case tokenName:
		if w.text == "true" || w.text == "false" {
			d := BoolDatum(w.text == "true")
			return func(*Evaluation) Datum { return d }, nil
		}
		if _, ok := p.accept("("); ok {
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
	c, err := p.ternary(depth + 1)
	if err != nil {
		return nil, err
	}
	return c, p.expect(")")
}
