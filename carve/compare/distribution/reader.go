package distribution

import (
	"bytes"
	"encoding/json"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"

	"whittle"
	"whittle/carve/compare/jsondoc"
)

// numberInBody is the value expression for a body's first number.
const numberInBody = "number in the body"

// reader reads the number from a response and the divisor from a request.
type reader struct {
	value *vm.Program // nil: the first number in the body
	per   *vm.Program // nil: 1
	// which of the expressions' variables are read, so that no others are parsed.
	valueReads, perReads map[string]bool
	// divisors are remembered for keptMost bodies of up to keptMost bytes: many requests are alike, and
	// parsing one costs more than all the statistics.
	divisors map[string]divisor
}

type divisor struct {
	per float64
	ok  bool
}

// newReader compiles the two expressions once.
func newReader(c whittle.Comparison) (*reader, error) {
	r := &reader{}
	var err error
	if v := strings.TrimSpace(c.Value); v != "" && v != numberInBody {
		if r.value, r.valueReads, err = compile("compare.value", v, ofResponse{}); err != nil {
			return nil, err
		}
	}
	if p := strings.TrimSpace(c.Per); p != "" {
		if r.per, r.perReads, err = compile("compare.per", p, ofRequest{}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ofResponse has the variables of compare.value, ofRequest those of compare.per.
type (
	ofResponse struct {
		Body string `expr:"body"`
		JSON any    `expr:"json"`
	}
	ofRequest struct {
		Request any               `expr:"request"`
		Query   map[string]string `expr:"query"`
		Header  map[string]string `expr:"header"`
		Path    string            `expr:"path"`
	}
)

const callable = "its functions are float, int, len, abs, ceil, floor, round, min, max"

// compile checks an expression's syntax and type.
func compile(field, src string, variables any) (*vm.Program, map[string]bool, error) {
	wrong := func(why, hint string) error {
		return whittle.Errorf(whittle.Invalid, "%s", why).WithField(field).WithHint(hint)
	}
	names := "it has to give a number, as float(...) does, and may read `body` (text) and `json`, or be the words: " + numberInBody
	if field == "compare.per" {
		names = "it has to give a number, as float(...) does, and may read `request` (the JSON body), `query`, `header` and `path`, as in: request.times"
	}
	f := form{reads: map[string]bool{}}
	program, err := expr.Compile(src, expr.Env(variables), expr.Patch(&f), expr.AsFloat64())
	if err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n") // with line and column within the expression
		return nil, nil, wrong(why, names+"; "+callable)
	}
	if f.refused != "" {
		return nil, nil, wrong(f.refused+" is not supported", names+"; "+callable)
	}
	return program, f.reads, nil
}

// form looks through an expression for the variables it reads and for what is not supported. Without
// loops, ranges and patterns its length and what it reads bound its cost.
type form struct {
	reads   map[string]bool
	refused string
}

// Visit implements ast.Visitor.
func (f *form) Visit(n *ast.Node) {
	switch v := (*n).(type) {
	case *ast.IdentifierNode:
		f.reads[v.Value] = true
	case *ast.BinaryNode:
		if !strings.Contains(" + - * / % == != < <= > >= && || and or ", " "+v.Operator+" ") {
			f.refused = "the operator " + v.Operator
		}
	case *ast.BuiltinNode:
		if !strings.Contains(callable+",", " "+v.Name+",") {
			f.refused = "the function " + v.Name
		}
	case *ast.CallNode, *ast.VariableDeclaratorNode, *ast.PredicateNode, *ast.ArrayNode, *ast.MapNode, *ast.SliceNode:
		f.refused = (*n).String()
	}
}

// read gives the response's number; false where there is none.
func (r *reader) read(a *whittle.Response) (float64, bool) {
	if r.value == nil {
		return firstNumber(a.Body)
	}
	var vars ofResponse
	if r.valueReads["body"] {
		vars.Body = strings.ToValidUTF8(string(a.Body), "\uFFFD")
	}
	if r.valueReads["json"] && json.Unmarshal(a.Body, &vars.JSON) != nil {
		return 0, false
	}
	return evaluate(r.value, vars)
}

// divisor gives what the response's number is divided by; false where the request has none.
func (r *reader) divisor(q *whittle.Request) (float64, bool) {
	if r.per == nil {
		return 1, true
	}
	if q.Truncated || len(q.Body) > keptMost || !r.perReads["request"] || len(r.perReads) > 1 {
		return r.work(q)
	}
	d, known := r.divisors[string(q.Body)]
	if !known {
		if r.divisors == nil || len(r.divisors) >= keptMost {
			r.divisors = map[string]divisor{}
		}
		d.per, d.ok = r.work(q)
		r.divisors[string(q.Body)] = d
	}
	return d.per, d.ok
}

// work evaluates the divisor's expression.
func (r *reader) work(q *whittle.Request) (float64, bool) {
	var vars ofRequest
	if r.perReads["request"] && (q.Truncated || json.Unmarshal(q.Body, &vars.Request) != nil) {
		return 0, false
	}
	if r.perReads["path"] || r.perReads["query"] {
		path, query, _ := strings.Cut(q.Target, "?")
		vars.Path = strings.ToValidUTF8(path, "\uFFFD")
		all, err := url.ParseQuery(query)
		if err != nil {
			all = nil
		}
		vars.Query = firstOf(all)
	}
	if r.perReads["header"] {
		vars.Header = firstOf(q.Header)
	}
	return evaluate(r.per, vars)
}

// evaluate runs a program; false after an error, or for a value that is not a finite number.
func evaluate(p *vm.Program, variables any) (float64, bool) {
	out, err := expr.Run(p, variables)
	v, ok := out.(float64)
	return v, err == nil && ok && !math.IsNaN(v) && !math.IsInf(v, 0)
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

// numberAt is where a text's first number stands: digits, decimals, an exponent, and a sign directly
// before them but not behind a letter or digit. Without a number both ends are the text's length.
func numberAt(b []byte) (start, end int, ok bool) {
	start = bytes.IndexAny(b, "0123456789")
	if start < 0 {
		return len(b), len(b), false
	}
	end = jsondoc.SkipDigits(b, start)
	if start > 0 && (b[start-1] == '-' || b[start-1] == '+') && (start == 1 || !isWord(b[start-2])) {
		start--
	}
	if end < len(b) && b[end] == '.' {
		end = digitsAfter(b, end, end+1)
	}
	if end < len(b) && b[end]|0x20 == 'e' {
		digits := end + 1
		if digits < len(b) && (b[digits] == '+' || b[digits] == '-') {
			digits++
		}
		end = digitsAfter(b, end, digits)
	}
	return start, end, true
}

// digitsAfter is where the digits from at end, or without if there are none.
func digitsAfter(b []byte, without, at int) int {
	if end := jsondoc.SkipDigits(b, at); end > at {
		return end
	}
	return without
}

func isWord(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// firstNumber reads the first number of a text.
func firstNumber(b []byte) (float64, bool) {
	start, end, ok := numberAt(b)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b[start:end]), 64)
	return f, err == nil
}

// aPath matches a value expression that is a path into the response's JSON.
var aPath = regexp.MustCompile(`^(?:float\(|int\(|)json((?:\.[A-Za-z_][A-Za-z0-9_]*|\[\d+\]|\["[^"\\]*"\])*)\)?$`)

// NumberPath is the place of the number in the response's JSON, as compare.ignore has it. It is empty
// where compare.value is another expression; then no number of a response is compared as it is.
func NumberPath(c *whittle.Comparison) string {
	found := aPath.FindStringSubmatch(strings.TrimSpace(c.Value))
	if found == nil {
		return ""
	}
	return "$" + found[1]
}

// Around is what stands around the number of a response: its JSON, or its text with a sign in place of
// the first number, or of all where compare.value reads others.
func (s *Method) Around(a *whittle.Response) []byte {
	if s.IsJSON(a) {
		return a.Body
	}
	b, out := a.Body, make([]byte, 0, len(a.Body))
	for {
		start, end, ok := numberAt(b)
		if !ok {
			return append(out, b...)
		}
		out = append(append(out, b[:start]...), '#')
		if b = b[end:]; s.read.value == nil {
			return append(out, b...)
		}
	}
}

// IsJSON reports whether a response is read as JSON.
func (s *Method) IsJSON(a *whittle.Response) bool { return s.read.valueReads["json"] || saysJSON(a) }

// SameAround is the quick look at texts that differ in their first number only.
func (s *Method) SameAround(a, b []byte) bool {
	i, endA, _ := numberAt(a)
	j, endB, _ := numberAt(b)
	return s.read.value == nil && bytes.Equal(a[:i], b[:j]) && bytes.Equal(a[endA:], b[endB:])
}

func saysJSON(a *whittle.Response) bool {
	kind, _, _ := strings.Cut(a.Header.Get("Content-Type"), ";")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(kind)), "json")
}
