package distribution

import (
	"bytes"
	"encoding/json"
	"math"
	"net/url"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"

	"whittle"
	"whittle/carve/compare/digest"
)

const (
	// numberInBody is the value expression for a body's first number.
	numberInBody = "number in the body"
	// maxExpression bounds the length of an expression, in bytes.
	maxExpression = 4 << 10
	// expressionCost bounds one evaluation, in cel-go's units (about one per
	// operation and per ten bytes of a string walked).
	expressionCost = 20_000
	// maxParsed bounds the bodies that are parsed as JSON, in bytes.
	maxParsed = 1 << 20
	// maxDigits bounds the length of a number in a body.
	maxDigits = 64
)

// number is a value as it was read.
type number struct {
	f float64
	// i is the exact value where whole is set.
	i     int64
	whole bool
}

// reader reads the number from a response and the divisor from a request.
type reader struct {
	value cel.Program // nil: the first number in the body
	per   cel.Program // nil: 1
	// which of the expressions' variables are read, so that nothing is parsed
	// in vain.
	valueReads, perReads map[string]bool

	// recent remembers the divisors of short bodies, as many requests are
	// alike and parsing one costs more than all the statistics.
	recent [recentBodies]recentBody
}

const (
	recentBodies = 64
	// recentBytes bounds a body that is remembered.
	recentBytes = 256
)

type recentBody struct {
	body []byte
	per  float64
	ok   bool
}

// newReader compiles the two expressions once.
func newReader(c whittle.Comparison) (*reader, error) {
	r := &reader{}
	var err error
	if v := strings.TrimSpace(c.Value); v != "" && v != numberInBody {
		r.value, r.valueReads, err = compile("compare.value", v,
			cel.Variable("body", cel.StringType), cel.Variable("json", cel.DynType))
		if err != nil {
			return nil, err
		}
	}
	if p := strings.TrimSpace(c.Per); p != "" {
		text := cel.MapType(cel.StringType, cel.StringType)
		r.per, r.perReads, err = compile("compare.per", p,
			cel.Variable("request", cel.DynType), cel.Variable("query", text),
			cel.Variable("header", text), cel.Variable("path", cel.StringType))
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// compile checks an expression's syntax and type and bounds its cost.
func compile(field, src string, vars ...cel.EnvOption) (cel.Program, map[string]bool, error) {
	wrong := func(why, hint string) error {
		return whittle.Errorf(whittle.Invalid, "%s", why).WithField(field).WithHint(hint)
	}
	names := "it may read `body` (text) and `json`, or be the words: " + numberInBody
	if field == "compare.per" {
		names = "it may read `request` (the JSON body), `query`, `header` and `path`, as in: request.times"
	}
	if len(src) > maxExpression {
		return nil, nil, wrong("the expression is longer than 4 KiB", "shorten it")
	}
	env, err := cel.NewEnv(append(vars, cel.CrossTypeNumericComparisons(true))...)
	if err != nil {
		return nil, nil, whittle.Errorf(whittle.Internal, "prepare expressions: %w", err)
	}
	checked, issues := env.Compile(src)
	if issues.Err() != nil {
		return nil, nil, wrong(firstLine(issues.Err().Error()), names)
	}
	switch t := checked.OutputType(); t.Kind() {
	case types.IntKind, types.UintKind, types.DoubleKind, types.DynKind, types.AnyKind:
	default:
		return nil, nil, wrong("the expression gives a "+t.String()+", not a number", "convert it, as in double(header[\"X-Size\"])")
	}
	program, err := env.Program(checked, cel.CostLimit(expressionCost), cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, nil, wrong(firstLine(err.Error()), names)
	}
	reads := map[string]bool{}
	ast.PostOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.IdentKind {
			reads[e.AsIdent()] = true
		}
	}))
	return program, reads, nil
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimPrefix(s, "ERROR: "), "\n")
	return strings.TrimPrefix(s, "<input>:") // line and column within the expression follow
}

// read gives the response's number; false where there is none to read.
func (r *reader) read(a *whittle.Response) (number, bool) {
	if r.value == nil {
		return firstNumber(a.Body)
	}
	vars := map[string]any{}
	if r.valueReads["body"] {
		vars["body"] = strings.ToValidUTF8(string(a.Body), "\uFFFD")
	}
	if r.valueReads["json"] {
		parsed, ok := parseJSON(a.Body)
		if !ok {
			return number{}, false
		}
		vars["json"] = parsed
	}
	return evaluate(r.value, vars)
}

// divisor gives what the response's number is divided by; false where the
// request has none.
func (r *reader) divisor(q *whittle.Request) (float64, bool) {
	if r.per == nil {
		return 1, true
	}
	if q.Truncated || len(q.Body) > recentBytes || !r.perReads["request"] || len(r.perReads) > 1 {
		return r.work(q)
	}
	m := &r.recent[digest.Mix(digest.FNV(q.Body))%recentBodies]
	if m.body == nil || !bytes.Equal(m.body, q.Body) {
		m.body = append(make([]byte, 0, len(q.Body)), q.Body...)
		m.per, m.ok = r.work(q)
	}
	return m.per, m.ok
}

// work evaluates the divisor's expression.
func (r *reader) work(q *whittle.Request) (float64, bool) {
	vars := map[string]any{}
	if r.perReads["request"] {
		parsed, ok := parseJSON(q.Body)
		if !ok || q.Truncated {
			return 0, false
		}
		vars["request"] = parsed
	}
	if r.perReads["path"] || r.perReads["query"] {
		path, query, _ := strings.Cut(q.Target, "?")
		vars["path"] = strings.ToValidUTF8(path, "\uFFFD")
		all, err := url.ParseQuery(query)
		if err != nil {
			all = nil
		}
		vars["query"] = firstOf(all)
	}
	if r.perReads["header"] {
		vars["header"] = firstOf(q.Header)
	}
	n, ok := evaluate(r.per, vars)
	return n.f, ok
}

// evaluate runs a program; an error, a cost above the bound or a value that is
// not a finite number means that there is nothing to read.
func evaluate(p cel.Program, vars map[string]any) (number, bool) {
	out, _, err := p.Eval(vars)
	if err != nil {
		return number{}, false
	}
	switch v := out.(type) {
	case types.Int:
		return number{f: float64(v), i: int64(v), whole: true}, true
	case types.Uint:
		if v > math.MaxInt64 {
			return number{f: float64(v)}, true
		}
		return number{f: float64(v), i: int64(v), whole: true}, true
	case types.Double:
		return ofFloat(float64(v))
	}
	return number{}, false
}

// ofFloat makes a number of a finite float; whole where it holds an integer
// that a float holds exactly.
func ofFloat(f float64) (number, bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return number{}, false
	}
	if f == math.Trunc(f) && math.Abs(f) <= 1<<53 {
		return number{f: f, i: int64(f), whole: true}, true
	}
	return number{f: f}, true
}

func parseJSON(b []byte) (any, bool) {
	var v any
	ok := len(b) <= maxParsed && json.Unmarshal(b, &v) == nil
	return v, ok
}

func firstOf(m map[string][]string) map[string]string {
	out := make(map[string]string, len(m))
	for k, v := range m {
		if len(v) > 0 {
			out[k] = strings.ToValidUTF8(v[0], "\uFFFD")
		}
	}
	return out
}

// numberAt is where a text's first number stands: digits, with a sign where one
// stands directly before them and not behind a letter or digit, decimals and an
// exponent. Without one both are the text's length.
func numberAt(b []byte) (start, end int, ok bool) {
	at := 0
	for at < len(b) && !isDigit(b[at]) {
		at++
	}
	if at == len(b) {
		return at, at, false
	}
	start = at
	if start > 0 && (b[start-1] == '-' || b[start-1] == '+') && (start == 1 || !isWord(b[start-2])) {
		start--
	}
	end = digitsFrom(b, at)
	if end+1 < len(b) && b[end] == '.' && isDigit(b[end+1]) {
		end = digitsFrom(b, end+1)
	}
	return start, exponentEnd(b, end), true
}

// firstNumber reads the first number of a text. Integers of 64 bits are exact.
func firstNumber(b []byte) (number, bool) {
	start, end, ok := numberAt(b)
	if !ok || end-start > maxDigits {
		return number{}, false
	}
	text := string(b[start:end])
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return number{f: float64(i), i: i, whole: true}, true
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return number{}, false
	}
	return ofFloat(f)
}

func exponentEnd(b []byte, at int) int {
	if at >= len(b) || b[at]|0x20 != 'e' {
		return at
	}
	digits := at + 1
	if digits < len(b) && (b[digits] == '+' || b[digits] == '-') {
		digits++
	}
	if digits >= len(b) || !isDigit(b[digits]) {
		return at
	}
	return digitsFrom(b, digits)
}

func digitsFrom(b []byte, at int) int {
	for at < len(b) && isDigit(b[at]) {
		at++
	}
	return at
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' }
