package artillery

import (
	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// captures reads capture or match: one mapping or a list of them.
func (r *reader) captures(q *plan.Request, n *node, match bool) error {
	items := n.items
	if n.kind != expr.KindList {
		items = []*node{n}
	}
	for _, item := range items {
		c, err := r.capture(item, match)
		if err != nil {
			return err
		}
		q.Captures = append(q.Captures, c)
	}
	if len(q.Captures) > plan.MaxConditions {
		return n.Invalid("more than %d captures of one request", plan.MaxConditions)
	}
	return nil
}

// captureSpec is a capture as it is written.
type captureSpec struct {
	expr.Extraction
	expr *node
}

var captureSources = []string{"json", "xpath", "regexp", "header", "selector"}

func (r *reader) capture(n *node, match bool) (plan.Capture, error) {
	c := plan.Capture{Slot: -1, Strict: !r.lenient}
	var spec captureSpec
	var as string
	var want *node
	known := map[string]func(*node) error{
		"strict": boolean(&c.Strict), "group": str(&spec.Group), "flags": str(&spec.Flags),
		"attr": str(&spec.Attr), "index": str(&spec.Index),
	}
	if match {
		c.Strict = true
		known["value"] = func(v *node) error { want = v; return nil }
	} else {
		known["as"] = str(&as)
	}
	for _, from := range captureSources {
		known[from] = func(v *node) error {
			if spec.expr != nil {
				return v.Invalid("one of json, xpath, regexp, header and selector is wanted, not two")
			}
			spec.From, spec.expr = from, v
			return nil
		}
	}
	if err := r.fields(n, "a capture", known, map[string]string{"transform": javaScript}); err != nil {
		return c, err
	}
	if spec.expr == nil {
		return c, n.Invalid("one of json, xpath, regexp, header and selector is wanted")
	}
	var err error
	switch {
	case match && want == nil:
		return c, n.Invalid("a match has a value to compare with")
	case match:
		c.Want, err = r.compileTemplate(want, want.text, expr.AsText)
	case !expr.IsName(as):
		return c, n.Invalid("as: %q is not a variable's name", as)
	default:
		c.Slot = r.Define(as)
		r.captured = append(r.captured, c.Slot)
	}
	if err != nil {
		return c, err
	}
	c.Body = spec.From != "header"
	c.Extract, err = r.extractor(spec)
	return c, err
}

// extractor compiles the expression of a capture; one with templates in it is
// compiled when it is known, for each request anew.
func (r *reader) extractor(spec captureSpec) (expr.Extractor, error) {
	var text string
	if err := str(&text)(spec.expr); err != nil {
		return nil, err
	}
	t, err := r.compileTemplate(spec.expr, text, expr.AsText)
	if err != nil {
		return nil, err
	}
	if fixed, ok := t.Constant(); ok {
		x, err := expr.CompileExtractor(spec.Extraction, fixed)
		if err != nil {
			return nil, spec.expr.Errorf(whittle.Invalid, "the %s is not understood: %v", spec.From, err)
		}
		return x, nil
	}
	return func(a *expr.Response) (expr.Value, bool) {
		x, err := expr.CompileExtractor(spec.Extraction, string(t.Render(nil, a.Scope)))
		if err != nil {
			return expr.Value{}, false
		}
		return x(a)
	}, nil
}
