package artillery

import (
	"slices"
	"strconv"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// captures reads capture or match: one mapping or a list of them.
func (r *reader) captures(q *plan.Request, n *node, match bool) {
	for _, item := range n.each() {
		if c, ok := r.capture(item, match); ok {
			q.Captures = append(q.Captures, c)
		}
	}
	if len(q.Captures) > plan.MaxConditions {
		panic(n.Invalid("more than %d captures of one request", plan.MaxConditions))
	}
}

// captureSpec is a capture as it is written.
type captureSpec struct {
	expr.Extraction
	expr *node
}

// captureSources are in the order in which Artillery looks for them.
var captureSources = []string{"json", "regexp", "header", "selector"}

func rank(source string) int { return slices.Index(captureSources, source) }

// capture reads one capture, or one match. False: it is a match that holds always.
func (r *reader) capture(n *node, match bool) (plan.Capture, bool) {
	c := plan.Capture{Slot: -1, Strict: !r.lenient}
	var spec captureSpec
	var as string
	var want *node
	known := map[string]func(*node){
		"strict": boolean(&c.Strict), "group": str(&spec.Group), "flags": str(&spec.Flags),
		"attr": str(&spec.Attr), "index": str(&spec.Index),
	}
	if match {
		c.Strict = true
		known["value"] = func(v *node) { want = v }
	} else {
		known["as"] = str(&as)
	}
	for _, from := range captureSources {
		known[from] = func(v *node) {
			if spec.expr != nil && rank(spec.From) < rank(from) {
				r.note(v, "%s of a capture is left out, as by Artillery, for it has %s", from, spec.From)
				return
			}
			if spec.expr != nil {
				r.note(v, "%s of a capture is left out, as by Artillery, for it has %s", spec.From, from)
			}
			spec.From, spec.expr = from, v
		}
	}
	known["multiple"] = func(v *node) {
		multiple := true
		if boolean(&multiple)(v); !multiple && spec.expr != nil && strings.ContainsAny(spec.expr.text, "*?:,") || strings.Contains(n.text, "..") {
			panic(v.Errorf(whittle.Unsupported, "multiple: false is not supported of a path that leads to several values"))
		}
	}
	if v := n.get("xpath"); v != nil {
		panic(v.Errorf(whittle.Unsupported, "xpath is not supported: use selector, regexp or json"))
	}
	what := "a capture"
	if match {
		what = "a match"
	}
	r.fields(n, what, known)
	switch {
	case match && want == nil:
		r.note(n, "a match without a value to compare with holds always, as by Artillery")
		return c, false
	case match:
		c.Want, c.Typed = r.json(want), true
	default:
		if path := expr.SplitPath(as); len(path) != 1 || !isVariable(as) {
			panic(n.Invalid("as: %q is not a variable's name", as))
		}
		c.Slot = r.Define(as)
	}
	if spec.expr == nil {
		r.note(n, "%s without json, regexp, header or selector finds nothing, as by Artillery", what)
		c.Extract = func(*expr.Response) (expr.Value, bool) { return expr.TextValue(""), match } // an empty text
		return c, true
	}
	if spec.From == "selector" && spec.Attr == "" {
		panic(n.Errorf(whittle.Unsupported, "a selector without an attr is not supported: Artillery takes all attributes of the element as one object, never its text"))
	}
	c.What = what + " of line " + strconv.Itoa(n.Line) + ": " + spec.From + " " + spec.expr.text
	c.Body = spec.From != "header"
	c.Extract = r.extractor(spec)
	if spec.From == "header" || spec.From == "regexp" {
		c.Extract = orEmpty(c.Extract)
	}
	if spec.From == "json" {
		c.Extract = asScript(c.Extract)
	}
	return c, true
}

// orEmpty is an empty text for what is not there.
func orEmpty(extract expr.Extractor) expr.Extractor {
	return func(a *expr.Response) (expr.Value, bool) {
		v, ok := extract(a)
		if !ok {
			v = expr.TextValue("")
		}
		return v, ok
	}
}

// asScript makes of a JSON value what JavaScript does that reads and writes it: no spaces,
// and numbers in its form.
func asScript(extract expr.Extractor) expr.Extractor {
	return func(a *expr.Response) (expr.Value, bool) {
		v, ok := extract(a)
		if !ok || v.JSON == "" || v.JSON[0] == '"' || v.JSON == "true" || v.JSON == "false" || v.JSON == "null" {
			return v, ok
		}
		if v.Doc == nil {
			v.JSON = jsNumber(v.JSON)
			v.Text = v.JSON
			return v, ok
		}
		doc, ok := expr.ParseDocument(string(nodeOf(v.Doc, plan.Position{}).appendJSON(nil)))
		if !ok {
			return expr.Value{}, false
		}
		return doc.Value(), true
	}
}

// extractor compiles the expression of a capture; one with templates in it is
// compiled when it is known, for each request anew.
func (r *reader) extractor(spec captureSpec) expr.Extractor {
	t := r.text(spec.expr)
	if spec.From == "header" && spec.expr.text != strings.ToLower(spec.expr.text) {
		r.note(spec.expr, "the header %s is not found, as by Artillery, to whom their names are in lower case", spec.expr.text)
		return func(*expr.Response) (expr.Value, bool) { return expr.Value{}, false }
	}
	if fixed, ok := t.Constant(); ok {
		x, err := expr.CompileExtractor(spec.Extraction, fixed)
		if err != nil {
			panic(spec.expr.Errorf(whittle.Invalid, "the %s is not understood: %v", spec.From, err))
		}
		return x
	}
	return func(a *expr.Response) (expr.Value, bool) {
		x, err := expr.CompileExtractor(spec.Extraction, string(t.Render(nil, a.Scope)))
		if err != nil {
			return expr.Value{}, false
		}
		return x(a)
	}
}
