package artillery

import (
	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// captures reads capture or match: one mapping or a list of them.
func (r *reader) captures(q *plan.Request, n *node, match bool) {
	for _, item := range n.each() {
		q.Captures = append(q.Captures, r.capture(item, match))
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

var captureSources = []string{"json", "xpath", "regexp", "header", "selector"}

func (r *reader) capture(n *node, match bool) plan.Capture {
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
			if spec.expr != nil {
				panic(v.Invalid("one of json, xpath, regexp, header and selector is wanted, not two"))
			}
			spec.From, spec.expr = from, v
		}
	}
	r.fields(n, "a capture", known, map[string]string{"transform": javaScript})
	if spec.expr == nil {
		panic(n.Invalid("one of json, xpath, regexp, header and selector is wanted"))
	}
	switch {
	case match && want == nil:
		panic(n.Invalid("a match has a value to compare with"))
	case match:
		c.Want = r.compileTemplate(want, want.text, expr.AsText)
	case !expr.IsName(as):
		panic(n.Invalid("as: %q is not a variable's name", as))
	default:
		c.Slot = r.Define(as)
		r.captured = append(r.captured, c.Slot)
	}
	c.Body = spec.From != "header"
	c.Extract = r.extractor(spec)
	return c
}

// extractor compiles the expression of a capture; one with templates in it is
// compiled when it is known, for each request anew.
func (r *reader) extractor(spec captureSpec) expr.Extractor {
	t := r.text(spec.expr)
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
