package load

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"whittle"
	"whittle/load/report"
)

// capture takes a value out of an answer: into a variable, or to compare it
// with another (Artillery's match).
type capture struct {
	slot    int // of the variable; −1 for a match
	extract extractor
	// body says that the answer's body is looked at, not only its headers.
	body bool
	// want is what a match compares with.
	want template
	// strict: an answer without the value is a failure.
	strict bool
}

// extractor finds a value. False: it is not there.
type extractor func(*reply) (value, bool)

// maxConditions bounds the captures, matches and expectations of one request.
const maxConditions = 100

// captures reads capture or match: one mapping or a list of them.
func (r *reader) captures(q *request, n *node, match bool) error {
	items := n.items
	if n.kind != kindList {
		items = []*node{n}
	}
	for _, item := range items {
		c, err := r.capture(item, match)
		if err != nil {
			return err
		}
		q.captures = append(q.captures, c)
	}
	if len(q.captures) > maxConditions {
		return n.invalid("more than %d captures of one request", maxConditions)
	}
	return nil
}

// captureSpec is a capture as it is written.
type captureSpec struct {
	from        string // json, xpath, regexp, header or selector
	expr        *node
	group       string
	flags, attr string
	index       string
}

var captureSources = []string{"json", "xpath", "regexp", "header", "selector"}

func (r *reader) capture(n *node, match bool) (capture, error) {
	c := capture{slot: -1, strict: !r.lenient}
	var spec captureSpec
	var as string
	var want *node
	known := map[string]func(*node) error{
		"strict": boolean(&c.strict), "group": str(&spec.group), "flags": str(&spec.flags),
		"attr": str(&spec.attr), "index": str(&spec.index),
	}
	if match {
		c.strict = true
		known["value"] = func(v *node) error { want = v; return nil }
	} else {
		known["as"] = str(&as)
	}
	for _, from := range captureSources {
		known[from] = func(v *node) error {
			if spec.expr != nil {
				return v.invalid("one of json, xpath, regexp, header and selector is wanted, not two")
			}
			spec.from, spec.expr = from, v
			return nil
		}
	}
	if err := r.fields(n, "a capture", known, map[string]string{"transform": javaScript}); err != nil {
		return c, err
	}
	if spec.expr == nil {
		return c, n.invalid("one of json, xpath, regexp, header and selector is wanted")
	}
	var err error
	switch {
	case match && want == nil:
		return c, n.invalid("a match has a value to compare with")
	case match:
		c.want, err = r.compileTemplate(want, want.text, asText)
	case !isName(as):
		return c, n.invalid("as: %q is not a variable's name", as)
	default:
		c.slot = r.define(as)
		r.captured = append(r.captured, c.slot)
	}
	if err != nil {
		return c, err
	}
	c.body = spec.from != "header"
	c.extract, err = r.extractor(spec)
	return c, err
}

// extractor compiles the expression of a capture; one with templates in it is
// compiled when it is known, for each request anew.
func (r *reader) extractor(spec captureSpec) (extractor, error) {
	var text string
	if err := str(&text)(spec.expr); err != nil {
		return nil, err
	}
	t, err := r.compileTemplate(spec.expr, text, asText)
	if err != nil {
		return nil, err
	}
	if fixed, ok := t.constant(); ok {
		x, err := compileExtractor(spec, fixed)
		if err != nil {
			return nil, spec.expr.errorf(whittle.Invalid, "the %s is not understood: %v", spec.from, err)
		}
		return x, nil
	}
	return func(a *reply) (value, bool) {
		x, err := compileExtractor(spec, string(t.render(nil, a.scope)))
		if err != nil {
			return value{}, false
		}
		return x(a)
	}, nil
}

func compileExtractor(spec captureSpec, expr string) (extractor, error) {
	switch spec.from {
	case "json":
		path, err := compilePath(expr)
		return func(a *reply) (value, bool) { return path.pick(a) }, err
	case "header":
		return func(a *reply) (value, bool) {
			v := a.header(expr)
			return textValue(v), v != ""
		}, nil
	case "regexp":
		return compileRegexp(expr, spec)
	case "xpath":
		return compileXPath(expr)
	}
	return compileSelector(expr, spec)
}

// pick gives what the path leads to, one at random of several, as Artillery
// does.
func (p jsonPath) pick(a *reply) (value, bool) {
	doc := a.json()
	if doc == nil || doc.kind != kindList && doc.kind != kindMap {
		return value{}, false
	}
	found := p.find(doc)
	if len(found) == 0 {
		return value{}, false
	}
	d := found[0]
	if len(found) > 1 {
		d = found[a.scope.rng.IntN(len(found))]
	}
	if len(d.raw) > maxCaptured {
		return value{}, false
	}
	v := d.owned()
	return v, v.text != "" || d.kind != kindString
}

func compileRegexp(expr string, spec captureSpec) (extractor, error) {
	rx, err := compilePattern(expr, spec.flags)
	if err != nil {
		return nil, err
	}
	group, err := groupOf(rx, spec.group)
	return func(a *reply) (value, bool) {
		text, whole := a.bodyText()
		if !whole {
			return value{}, false
		}
		at := rx.FindStringSubmatchIndex(text)
		if at == nil || at[2*group] < 0 {
			return value{}, false
		}
		return capturedText(text[at[2*group]:at[2*group+1]])
	}, err
}

// groupOf finds a group by number or by name; none is the whole match.
func groupOf(rx *regexp.Regexp, group string) (int, error) {
	if group == "" {
		return 0, nil
	}
	if i, err := strconv.Atoi(group); err == nil && i >= 0 && i <= rx.NumSubexp() {
		return i, nil
	}
	if i := slices.Index(rx.SubexpNames(), group); i > 0 {
		return i, nil
	}
	return 0, fmt.Errorf("the pattern has no group %s", group)
}

// capturedText makes a value of a piece of a body, which it does not keep
// alive. An empty one counts as absent, as in Artillery.
func capturedText(s string) (value, bool) {
	if s == "" || len(s) > maxCaptured {
		return value{}, false
	}
	return textValue(string([]byte(s))), true
}

// capture takes the values that the request asks for out of an answer. Where
// one that must be there is missing, none is set, and the kind of the failure
// is returned.
func (r *request) capture(a *reply) string {
	var few [8]value
	values := few[:0]
	for i := range r.captures {
		c := &r.captures[i]
		v, ok := c.extract(a)
		if ok && c.slot < 0 {
			ok = v.text == string(c.want.render(nil, a.scope))
		}
		switch {
		case !ok && c.strict && c.slot < 0:
			return report.ErrorExpectation
		case !ok && c.strict:
			return report.ErrorCapture
		}
		values = append(values, v)
	}
	for i := range r.captures {
		if c := &r.captures[i]; c.slot >= 0 {
			a.scope.values[c.slot] = values[i]
		}
	}
	return ""
}
