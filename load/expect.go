package load

import (
	"mime"
	"slices"
	"strconv"
	"strings"
)

// expectation is one condition on an answer; a failed one counts as an error
// of the kind "expectation".
type expectation struct {
	// statuses are those allowed, or with negate those not; nil: any.
	statuses []int
	negate   bool
	// status says that it is about the status, however it is written.
	status bool
	// check is a condition of any other kind; nil: none.
	check func(*reply) bool
	// body says that check looks at the answer's body.
	body bool
}

func (e *expectation) holds(a *reply) bool {
	if e.check != nil {
		return e.check(a)
	}
	return slices.Contains(e.statuses, a.status) != e.negate
}

// expect reads the conditions on an answer: a mapping, or a list of them.
func (r *reader) expect(q *request, n *node) error {
	if n.kind == kindList {
		for _, item := range n.items {
			if err := r.expect(q, item); err != nil {
				return err
			}
		}
		return nil
	}
	texts := func(body bool, least, most int, check func(a *reply, texts []string) bool) func(*node) error {
		return func(n *node) error { return r.expectTexts(q, n, body, least, most, check) }
	}
	err := r.fields(n, "expect", map[string]func(*node) error{
		"statusCode":    func(n *node) error { return r.expectStatus(q, n, false) },
		"notStatusCode": func(n *node) error { return r.expectStatus(q, n, true) },
		"matchesRegexp": func(n *node) error { return r.expectPattern(q, n) },
		"contentType":   texts(false, 1, 1, func(a *reply, t []string) bool { return matchesType(a.header("content-type"), t[0]) }),
		"hasHeader":     texts(false, 1, 1, func(a *reply, t []string) bool { return a.has(strings.ToLower(t[0])) }),
		"headerEquals": texts(false, 2, 2, func(a *reply, t []string) bool {
			return a.has(strings.ToLower(t[0])) && a.header(strings.ToLower(t[0])) == t[1]
		}),
		"hasProperty":    texts(true, 1, 1, func(a *reply, t []string) bool { return a.property(t[0]) != nil }),
		"notHasProperty": texts(true, 1, 1, func(a *reply, t []string) bool { return a.json() != nil && a.property(t[0]) == nil }),
		"equals": texts(false, 1, maxConditions, func(_ *reply, t []string) bool {
			return len(slices.Compact(t)) == 1
		}),
	}, map[string]string{
		"cdnHit": "caches say so in headers of their own; use headerEquals", "jmespath": "use hasProperty, or match with json",
	})
	if err == nil && len(q.expect) > maxConditions {
		err = n.invalid("more than %d expectations of one request", maxConditions)
	}
	return err
}

// expectStatus reads a status or a list of them; one may be an expression.
func (r *reader) expectStatus(q *request, n *node, negate bool) error {
	items := n.items
	if n.kind != kindList {
		items = []*node{n}
	}
	if n.kind == kindString && strings.Contains(n.text, "{{") {
		err := r.expectTexts(q, n, false, 1, 1, func(a *reply, t []string) bool {
			return (strconv.Itoa(a.status) == t[0]) != negate
		})
		if err == nil {
			q.expect[len(q.expect)-1].status = true
		}
		return err
	}
	e := expectation{negate: negate, status: true, statuses: []int{}}
	for _, item := range items {
		var code int
		if err := whole(&code, 100, 999)(item); err != nil {
			return err
		}
		e.statuses = append(e.statuses, code)
	}
	q.expect = append(q.expect, e)
	return nil
}

// expectTexts reads a text or a list of them, with expressions, for check.
func (r *reader) expectTexts(q *request, n *node, body bool, least, most int, check func(*reply, []string) bool) error {
	items := n.items
	if n.kind != kindList {
		items = []*node{n}
	}
	if len(items) < least || len(items) > most {
		return n.invalid("%d values are wanted here, not %d", least, len(items))
	}
	templates := make([]template, len(items))
	for i, item := range items {
		var text string
		err := str(&text)(item)
		if err == nil {
			templates[i], err = r.compileTemplate(item, text, asText)
		}
		if err != nil {
			return err
		}
	}
	q.expect = append(q.expect, expectation{body: body, check: func(a *reply) bool {
		texts := make([]string, len(templates))
		for i, t := range templates {
			texts[i] = string(t.render(nil, a.scope))
		}
		return check(a, texts)
	}})
	return nil
}

func (r *reader) expectPattern(q *request, n *node) error {
	var text string
	if err := str(&text)(n); err != nil {
		return err
	}
	rx, err := compilePattern(text, "")
	if err != nil {
		return n.invalid("%v", err)
	}
	q.expect = append(q.expect, expectation{body: true, check: func(a *reply) bool {
		body, _ := a.bodyText()
		return rx.MatchString(body)
	}})
	return nil
}

// property follows a path such as user.names[0] into a JSON body. Nil: the
// body has no such property, or is not JSON.
func (r *reply) property(path string) *document {
	doc := r.json()
	if doc == nil {
		return nil
	}
	return doc.walk(splitPath(path))
}

func (a *answer) has(header string) bool {
	found := false
	a.each(header, func([]byte) { found = true })
	return found
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
