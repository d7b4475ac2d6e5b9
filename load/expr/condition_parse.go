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
	// dialectMember is one as JMeter's library (json-path 2.8.0) has it: a path alone asks
	// whether something is there, also where that is false or null, and a compared value
	// keeps its type.
	dialectMember
)

// CompileCondition reads an expression as plans write it; resolve gives a name
// its meaning.
func CompileCondition(src string, resolve func(name string) (func(*Evaluation) Datum, error)) (Condition, error) {
	return compileIn(dialectPlan, src, resolve)
}

func compileIn(d dialect, src string, resolve func(name string) (func(*Evaluation) Datum, error)) (c Condition, err error) {
	defer caught(&err)
	if len(src) > MaxConditionBytes {
		fail("longer than %d bytes", MaxConditionBytes)
	}
	p := conditionParser{tokens: tokenize(src, d), resolve: resolve, dialect: d}
	read := p.logic(0)
	if w := p.peek(); w.text != "" {
		fail("%s is not wanted there", w.text)
	}
	return read, nil
}

// mistake is what the reading of an expression ends with.
type mistake struct{ error }

func fail(format string, args ...any) { panic(mistake{fmt.Errorf(format, args...)}) }

// check ends the reading of an expression by an error, if there is one.
func check(err error) {
	if err != nil {
		panic(mistake{err})
	}
}

// caught is deferred by what reads an expression, and gives a mistake as its error.
func caught(err *error) {
	switch e := recover().(type) {
	case nil:
	case mistake:
		*err = e.error
	default:
		panic(e)
	}
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
func tokenize(src string, d dialect) (out []token) {
	for rest := strings.TrimSpace(src); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		c, names := rest[0], planToken
		if d != dialectPlan {
			names = pathToken
		}
		switch {
		case c == '"' || c == '\'':
			n := QuotedLength(rest)
			if n == 0 {
				fail("a text without its end: %s", rest)
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
			fail("%q is not understood", rest)
		}
	}
	return out
}

// conditionParser descends from the loosest operator to the tightest.
type conditionParser struct {
	tokens  []token
	at      int
	resolve func(string) (func(*Evaluation) Datum, error)
	dialect dialect
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

func (p *conditionParser) expect(op string) {
	if _, ok := p.accept(op); !ok {
		fail("%s is wanted before %q", op, p.peek().text)
	}
}

// conditionLevels are the operators between two operands, the loosest first.
var conditionLevels = [][]string{
	{"or", "||"},
	{"and", "&&"},
	{"==", "!=", "~=", "in", "not"},
	{"<", "<=", ">", ">="},
	{"+", "-"},
	{"*", "/", "%"},
}

// memberLevels are those of dialectMember.
var memberLevels = [][]string{{"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">="}}

// levels are those of the dialect.
func (p *conditionParser) levels() [][]string {
	if p.dialect == dialectMember {
		return memberLevels
	}
	return conditionLevels
}

// logic is the loosest level.
func (p *conditionParser) logic(depth int) Condition {
	if depth > maxConditionDepth {
		fail("nested deeper than %d", maxConditionDepth)
	}
	return p.binary(0, depth)
}

func (p *conditionParser) binary(level, depth int) Condition {
	if level == len(p.levels()) {
		return p.unary(depth)
	}
	return p.further(level, p.binary(level+1, depth), depth)
}

// further reads what follows a left operand at a level.
func (p *conditionParser) further(level int, left Condition, depth int) Condition {
	for {
		op, ok := p.accept(p.levels()[level]...)
		if !ok {
			return left
		}
		left = p.operate(op, left, level, depth)
		if op == "in" || op == "not" { // their list is closed: what is tighter may follow, too
			for l := len(conditionLevels) - 1; l > level; l-- {
				left = p.further(l, left, depth)
			}
		}
	}
}

func (p *conditionParser) operate(op string, left Condition, level, depth int) Condition {
	switch op {
	case "in":
		return p.in(left, true, depth)
	case "not":
		p.expect("in")
		return p.in(left, false, depth)
	case "~=":
		return p.matches(left)
	}
	right := p.binary(level+1, depth)
	switch op {
	case "or", "||":
		return func(e *Evaluation) Datum { return BoolDatum(left(e).Truth() || right(e).Truth()) }
	case "and", "&&":
		return func(e *Evaluation) Datum { return BoolDatum(left(e).Truth() && right(e).Truth()) }
	case "==", "!=", "<", "<=", ">", ">=":
		if p.dialect == dialectMember {
			return typedComparison(op, left, right)
		}
		return comparison(op, left, right)
	}
	return arithmetic(op, left, right)
}

// matches is a ~= "pattern", whose text is known when the plan is read.
func (p *conditionParser) matches(left Condition) Condition {
	pattern := p.peek()
	if p.at++; pattern.kind != tokenText {
		fail("~= wants a text after it")
	}
	rx, err := CompilePattern(pattern.text, "")
	check(err)
	return func(e *Evaluation) Datum { return BoolDatum(rx.MatchString(left(e).String())) }
}

// in is x in (a, b, c).
func (p *conditionParser) in(left Condition, wanted bool, depth int) Condition {
	p.expect("(")
	items := p.arguments(depth)
	return func(e *Evaluation) Datum {
		x := left(e)
		for _, item := range items {
			if c, ok := compare(x, item(e)); ok && c == 0 {
				return BoolDatum(wanted)
			}
		}
		return BoolDatum(!wanted)
	}
}

// arguments reads a list up to its closing parenthesis.
func (p *conditionParser) arguments(depth int) (out []Condition) {
	if _, ok := p.accept(")"); ok {
		return nil
	}
	for {
		out = append(out, p.logic(depth+1))
		if _, ok := p.accept(","); !ok {
			p.expect(")")
			return out
		}
	}
}

func (p *conditionParser) unary(depth int) Condition {
	if depth > maxConditionDepth {
		fail("nested deeper than %d", maxConditionDepth)
	}
	op, ok := p.accept("-", "!", "not")
	if !ok || op == "not" && p.dialect == dialectMember {
		return p.operand(depth)
	}
	c := p.unary(depth + 1)
	if op == "-" {
		return func(e *Evaluation) Datum { return NumberDatum(-c(e).number()) }
	}
	return func(e *Evaluation) Datum { return BoolDatum(!c(e).Truth()) }
}

// named is what a name means.
func (p *conditionParser) named(name string) Condition {
	of, err := p.resolve(name)
	check(err)
	return of
}

// alone reports whether the operand that has been read is neither compared nor computed with.
func (p *conditionParser) alone() bool {
	logic := []string{"", "(", ")", "&&", "||", "!"}
	before := ""
	if p.at > 1 {
		before = p.tokens[p.at-2].text
	}
	return slices.Contains(logic, before) && slices.Contains(logic, p.peek().text)
}

func (p *conditionParser) operand(depth int) Condition {
	fixed := func(d Datum) Condition { return func(*Evaluation) Datum { return d } }
	w := p.peek()
	p.at++
	switch w.kind {
	case tokenNumber:
		f, err := strconv.ParseFloat(w.text, 64)
		check(err)
		if p.dialect == dialectMember {
			return fixed(Datum{Kind: KindNumber, Num: f, Text: w.text})
		}
		return fixed(NumberDatum(f))
	case tokenText:
		return fixed(Datum{Kind: KindString, Text: w.text})
	case tokenQuotedName:
		return p.named(w.text)
	case tokenName:
		if w.text == "true" || w.text == "false" {
			return fixed(BoolDatum(w.text == "true"))
		}
		if p.peek().text == "(" {
			fail("functions such as %s are not supported", w.text)
		}
		of := p.named(w.text)
		if p.dialect == dialectMember && p.alone() {
			return func(e *Evaluation) Datum { return BoolDatum(of(e) != Datum{}) }
		}
		return of
	}
	if w.text != "(" {
		fail("a value is wanted before %q", w.text)
	}
	c := p.logic(depth + 1)
	p.expect(")")
	return c
}
