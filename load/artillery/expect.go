package artillery

import (
	"mime"
	"slices"
	"strconv"
	"strings"

	"whittle/load/expr"
	"whittle/load/plan"
)

// expect reads the conditions on a response: a mapping, or a list of them. A
// text is none.
func (r *reader) expect(q *plan.Request, n *node) {
	if n.kind == expr.KindList {
		for _, item := range n.items {
			r.expect(q, item)
		}
		return
	}
	if n.kind == expr.KindString {
		r.note(n, "the expectation %q is left out, as by Artillery: it is a text (a colon has a space behind it)", n.text)
		return
	}
	texts := func(body bool, least, most int, check func(a *expr.Response, texts []string) bool) func(*node) {
		return func(n *node) { r.expectTexts(q, n, body, least, most, check) }
	}
	conditions := map[string]func(*node){
		"statusCode":    func(n *node) { r.expectStatus(q, n, false) },
		"notStatusCode": func(n *node) { r.expectStatus(q, n, true) },
		"matchesRegexp": func(n *node) { r.expectPattern(q, n) },
		"contentType":   texts(false, 1, 1, func(a *expr.Response, t []string) bool { return matchesType(a.Header("content-type"), t[0]) }),
		"hasHeader":     texts(false, 1, 1, func(a *expr.Response, t []string) bool { return a.Has(strings.ToLower(t[0])) }),
		"headerEquals": texts(false, 2, 2, func(a *expr.Response, t []string) bool {
			return a.Has(strings.ToLower(t[0])) && a.Header(strings.ToLower(t[0])) == t[1]
		}),
		"hasProperty":    texts(true, 1, 1, func(a *expr.Response, t []string) bool { return a.Property(t[0]) != nil }),
		"notHasProperty": texts(true, 1, 1, func(a *expr.Response, t []string) bool { return a.JSON() != nil && a.Property(t[0]) == nil }),
		"equals": texts(false, 1, plan.MaxConditions, func(_ *expr.Response, t []string) bool {
			return len(slices.Compact(t)) == 1
		}),
		"cdnHit":   r.ignoredExpectation("cdnHit", "caches say so in headers of their own; use headerEquals"),
		"jmespath": r.ignoredExpectation("jmespath", "use hasProperty, or match with json"),
	}
	for name, add := range conditions {
		conditions[name] = func(n *node) {
			before := len(q.Expect)
			add(n)
			for i := before; i < len(q.Expect); i++ {
				q.Expect[i].What = "expect " + name + " of line " + strconv.Itoa(n.Line)
			}
		}
	}
	r.fields(n, "expect", conditions)
	if len(q.Expect) > plan.MaxConditions {
		panic(n.Invalid("more than %d expectations of one request", plan.MaxConditions))
	}
}

// ignoredExpectation is one that is not looked at.
func (r *reader) ignoredExpectation(name, advice string) func(*node) {
	return func(n *node) { r.note(n, "the expectation %s is left out: %s", name, advice) }
}

// expectStatus reads a status or a list of them; one may be an expression.
func (r *reader) expectStatus(q *plan.Request, n *node, negate bool) {
	if n.kind == expr.KindString && strings.Contains(n.text, "{{") {
		r.expectTexts(q, n, false, 1, 1, func(a *expr.Response, t []string) bool {
			return (strconv.Itoa(a.Status) == t[0]) != negate
		})
		q.Expect[len(q.Expect)-1].Status = true
		return
	}
	e := plan.Expectation{Negate: negate, Status: true, Statuses: []int{}}
	for _, item := range n.each() {
		if _, err := strconv.ParseFloat(strings.TrimSpace(item.text), 64); item.kind == expr.KindString && err != nil {
			r.note(item, "no response has the status %q, as with Artillery: it is no number", item.text)
			continue
		}
		var code int
		whole(&code, 100, 999)(item)
		e.Statuses = append(e.Statuses, code)
	}
	q.Expect = append(q.Expect, e)
}

// expectTexts reads a text or a list of them, with expressions, for check.
func (r *reader) expectTexts(q *plan.Request, n *node, body bool, least, most int, check func(*expr.Response, []string) bool) {
	items := n.each()
	if len(items) < least || len(items) > most {
		panic(n.Invalid("%d values are wanted here, not %d", least, len(items)))
	}
	templates := make([]expr.Template, len(items))
	for i, item := range items {
		templates[i] = r.text(item)
	}
	q.Expect = append(q.Expect, plan.Expectation{Body: body, Check: func(a *expr.Response) bool {
		texts := make([]string, len(templates))
		for i, t := range templates {
			texts[i] = string(t.Render(nil, a.Scope))
		}
		return check(a, texts)
	}})
}

// expectPattern reads a pattern; one with expressions is compiled for each response.
func (r *reader) expectPattern(q *plan.Request, n *node) {
	t := r.text(n)
	text, fixed := t.Constant()
	rx, err := expr.CompilePattern(text, "")
	if fixed && err != nil {
		panic(n.Invalid("%v", err))
	}
	q.Expect = append(q.Expect, plan.Expectation{Body: true, Check: func(a *expr.Response) bool {
		rx, err := rx, err
		if !fixed {
			rx, err = expr.CompilePattern(string(t.Render(nil, a.Scope)), "")
		}
		body, _ := a.BodyText()
		return err == nil && rx.MatchString(body)
	}})
}

// matchesType compares media types as Artillery's expectations do: "json" is
// short for application/json, parameters do not count unless they are given.
func matchesType(got, want string) bool {
	if want == "json" {
		want = "application/json"
	}
	if strings.EqualFold(got, want) {
		return true
	}
	media, _, err := mime.ParseMediaType(got)
	return err == nil && strings.EqualFold(media, want)
}
