package load

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// draft is a request being read: what must be put together once all of it is
// known.
type draft struct {
	url         *node
	query       template
	headers     []headerField
	contentType template
	chance      float64
	when        condition
	bodies      []string // the elements that give a body
}

func (r *reader) request(method string, n *node) (*request, error) {
	q := &request{method: method, headers: r.plan.HTTP.headers, follow: true}
	if len(r.cookies) > 0 {
		q.cookies = r.cookies
	}
	d := draft{chance: 100}
	if err := r.fields(n, "a request", r.requestFields(q, &d), hooks); err != nil {
		return nil, err
	}
	if len(d.bodies) > 1 {
		return nil, n.invalid("a request has one of json, body, form and formData, not both %s", strings.Join(d.bodies, " and "))
	}
	if d.url == nil {
		return nil, n.invalid("a request has a url")
	}
	if err := r.url(q, d.url, d.query); err != nil {
		return nil, err
	}
	if q.name == "" {
		q.name = method + " " + d.url.text
	}
	q.index = r.nameIndex(q.name)
	q.headers = mergeHeaders(q.headers, d.headers)
	if len(d.contentType) > 0 && !q.has("content-type") {
		q.headers = mergeHeaders(q.headers, []headerField{{"content-type", d.contentType}})
	}
	if r.expect200 && !q.expectsStatus() {
		q.expect = append(q.expect, expectation{status: true, statuses: []int{200}})
	}
	q.skip = skipper(d.when, d.chance)
	return q, nil
}

func (r *reader) requestFields(q *request, d *draft) map[string]func(*node) error {
	body := func(name, contentType string, read func(*node) error) func(*node) error {
		return func(n *node) error {
			q.hasBody, d.bodies = true, append(d.bodies, name)
			if contentType != "" {
				d.contentType = template(nil).literal(contentType)
			}
			return read(n)
		}
	}
	compiled := func(into *template, read func(*node) (template, error)) func(*node) error {
		return func(n *node) (err error) {
			*into, err = read(n)
			return err
		}
	}
	url := func(v *node) error { d.url = v; return nil }
	return map[string]func(*node) error{
		"url": url, "uri": url,
		"name": str(&q.name),
		"headers": func(v *node) error {
			own, err := r.headers(v)
			d.headers = mergeHeaders(own, d.headers) // auth stays in its place
			return err
		},
		"qs":   compiled(&d.query, r.pairs),
		"json": body("json", "application/json", compiled(&q.body, r.json)),
		"body": body("body", "", compiled(&q.body, r.text)),
		"form": body("form", "application/x-www-form-urlencoded", compiled(&q.body, r.pairs)),
		"formData": body("formData", "", func(v *node) (err error) {
			q.body, d.contentType, err = r.formData(v)
			return err
		}),
		"auth":   func(v *node) error { return r.auth(d, v) },
		"cookie": func(v *node) error { return r.cookie(&q.cookies, v) },
		"gzip": func(v *node) error {
			var on bool
			if err := boolean(&on)(v); err != nil || !on {
				return err
			}
			d.headers = mergeHeaders([]headerField{{"accept-encoding", template(nil).literal("gzip")}}, d.headers)
			return nil
		},
		"followRedirect": boolean(&q.follow),
		"capture":        func(v *node) error { return r.captures(q, v, false) },
		"match":          func(v *node) error { return r.captures(q, v, true) },
		"expect":         func(v *node) error { return r.expect(q, v) },
		"probability":    number(&d.chance, 0, 100),
		"ifTrue": func(v *node) (err error) {
			d.when, err = r.condition(v, "ifTrue")
			return err
		},
	}
}

// expectsStatus says whether some expectation is about the status.
func (r *request) expectsStatus() bool {
	for i := range r.expect {
		if r.expect[i].status {
			return true
		}
	}
	return false
}

// skipper joins the two reasons to leave a request out; nil: there is none.
func skipper(when condition, chance float64) func(*scope) bool {
	if when == nil && chance >= 100 {
		return nil
	}
	return func(s *scope) bool {
		return chance < 100 && s.rng.Float64()*100 >= chance || when != nil && !when(&evaluation{scope: s}).truth()
	}
}

// text reads a text with expressions, to be written as it is.
func (r *reader) text(n *node) (template, error) {
	var text string
	if err := str(&text)(n); err != nil {
		return nil, err
	}
	return r.compileTemplate(n, text, asText)
}

// auth reads {user, pass} as HTTP's basic authentication (RFC 7617).
func (r *reader) auth(d *draft, n *node) error {
	var user, pass template
	read := func(into *template) func(*node) error {
		return func(v *node) (err error) {
			*into, err = r.text(v)
			return err
		}
	}
	err := r.fields(n, "auth", map[string]func(*node) error{
		"user": read(&user), "username": read(&user), "pass": read(&pass), "password": read(&pass),
	}, nil)
	if err != nil {
		return err
	}
	both := user.literal(":").join(pass)
	basic := func(credentials string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
	}
	t := template{{eval: func(s *scope) value { return textValue(basic(string(both.render(nil, s)))) }, enc: asText}}
	if fixed, ok := both.constant(); ok {
		t = template(nil).literal(basic(fixed))
	}
	d.headers = mergeHeaders(d.headers, []headerField{{"authorization", t}})
	return nil
}

// cookie reads a mapping of names to values, put over those that are there.
func (r *reader) cookie(into *[]headerField, n *node) error {
	if n.kind != kindMap {
		return n.invalid("a mapping of cookies to values is wanted here, not %s", n.kind)
	}
	for _, f := range n.fields {
		if f.name == "" || !isToken([]byte(f.name)) {
			return n.invalid("%q is not a cookie's name", f.name)
		}
		t, err := r.text(f.value)
		if err != nil {
			return err
		}
		*into = mergeHeaders(*into, []headerField{{f.name, t}})
	}
	return nil
}

// url reads a URL, relative to the target or absolute. Where its host is known
// only when it is rendered, all of it is.
func (r *reader) url(q *request, n *node, query template) error {
	var text string
	if err := str(&text)(n); err != nil {
		return err
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "#")
	if scheme := strings.Index(text, "://"); strings.HasPrefix(text, "{{") ||
		scheme >= 0 && strings.Contains(text[:originLength(text)], "{{") {
		whole, err := r.compileTemplate(n, text, inTarget)
		if err != nil {
			return err
		}
		fixed, ok := whole.constant()
		if !ok {
			q.address, q.query = whole, query
			return nil
		}
		text = fixed // it was of the environment only
	}
	if end := originLength(text); end > 0 {
		q.origin, text = text[:end], text[end:]
		if u, err := url.Parse(q.origin); err != nil || u.Host == "" {
			return n.invalid("%q is not a url", q.origin)
		}
		if _, err := parseEndpoint(q.origin, false); err != nil {
			return n.invalid("%v", err)
		}
	}
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	path, err := r.compileTemplate(n, text, inTarget)
	if err != nil {
		return err
	}
	q.path = withQuery(path, text, query)
	return nil
}

// originLength is how long scheme and host of an absolute URL are; 0 for a
// relative one.
func originLength(text string) int {
	i := strings.Index(text, "://")
	if i < 0 || strings.ContainsAny(text[:i], "/?") {
		return 0
	}
	if j := strings.IndexAny(text[i+3:], "/?"); j >= 0 {
		return i + 3 + j
	}
	return len(text)
}

// withQuery puts a query behind a URL, which may have one already.
func withQuery(t template, text string, query template) template {
	if len(query) == 0 {
		return t
	}
	sep := "?"
	if strings.Contains(text, "?") {
		sep = "&"
	}
	return t.literal(sep).join(query)
}

// condition reads an expression over variables. A name that is none of the
// plan's would be a function of its processor.
func (r *reader) condition(n *node, what string) (condition, error) {
	if n.kind != kindString && n.kind != kindBool && n.kind != kindNumber {
		return nil, n.invalid("%s is an expression, not %s", what, n.kind)
	}
	text := n.text
	if inner, ok := lone(text); ok {
		text = inner
	}
	c, err := compileCondition(text, dialectPlan, func(name string) (func(*evaluation) datum, error) {
		v, err := r.variable(n, name)
		return func(e *evaluation) datum { return datumOf(v(e.scope)) }, err
	})
	if err != nil {
		return nil, n.invalid("%s: %q: %v", what, n.text, err)
	}
	return c, nil
}
