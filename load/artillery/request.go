package artillery

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/script"
)

// draft is a request being read: what must be put together once all of it is
// known.
type draft struct {
	url         *node
	query       expr.Template
	headers     []plan.HeaderField
	contentType expr.Template
	chance      float64
	when        expr.Condition
	json        expr.Template
	bodies      []string // the elements that give a body
	// asksCompressed says that a compressed response is asked for.
	asksCompressed bool
	getsWithBody   bool // allowGetBody: a GET with a body is sent
	before, after  []*script.Function
}

func (r *reader) request(method string, n *node) *plan.Request {
	q := &plan.Request{Method: method, Headers: r.Plan.HTTP.Headers, FollowRedirects: true, KeepMethod: true, EndsOnExpect: r.endsOnExpect}
	if len(r.cookies) > 0 {
		q.Cookies = r.cookies
	}
	d := draft{chance: 101, asksCompressed: true}
	r.fields(n, "a request", r.requestFields(q, &d))
	if slices.Equal(d.bodies, []string{"body", "json"}) || slices.Equal(d.bodies, []string{"json", "body"}) {
		q.Body, d.bodies = d.json, []string{"json"}
		d.contentType = expr.Template(nil).Literal("application/json")
	}
	if len(d.bodies) > 1 {
		panic(n.Invalid("a request has one of json, body, form and formData, not both %s", strings.Join(d.bodies, " and ")))
	}
	if q.HasBody && (method == "HEAD" || method == "GET" && !d.getsWithBody) {
		panic(n.Errorf(whittle.Unsupported, "a %s with a body is not sent by Artillery (a GET is, with allowGetBody: true)", method))
	}
	if d.url == nil {
		panic(n.Invalid("a request has a url"))
	}
	r.url(q, d.url, d.query)
	if q.Name == "" {
		address, _ := plan.SplitLogin(d.url.text) // a name is in every report
		q.Name = method + " " + address
	}
	if !r.frozen {
		q.Index = r.NameIndex(q.Name)
	}
	q.Headers = plan.MergeHeaders(q.Headers, d.headers)
	if len(d.contentType) > 0 && !q.HasHeader("content-type") {
		q.Headers = plan.MergeHeaders(q.Headers, []plan.HeaderField{{Name: "content-type", Value: d.contentType}})
	}
	if d.asksCompressed && !q.HasHeader("accept-encoding") {
		q.Headers = plan.MergeHeaders(q.Headers, []plan.HeaderField{{Name: "accept-encoding", Value: expr.Template(nil).Literal("gzip, deflate, br, zstd")}})
	}
	if r.expect200 && !q.ExpectsStatus() {
		q.Expect = append(q.Expect, plan.Expectation{Status: true, Statuses: []int{200}})
	}
	if d.when != nil || d.chance < 100 { // two reasons to leave a request out
		q.Skip = func(s *expr.Scope) bool {
			return d.chance < 100 && float64(s.RNG.IntN(101)) >= d.chance || d.when != nil && !d.when(&expr.Evaluation{Scope: s}).Truth()
		}
	}
	if !r.frozen {
		r.hookRequest(q, n, d.before, d.after)
	}
	return q
}

// madeRequest reads the request that hooks have made of one of the plan's.
func (r *reader) madeRequest(static *plan.Request, n *node) *plan.Request {
	made := r.request(static.Method, n)
	q := *static
	q.Origin, q.Path, q.Address, q.Query, q.WholeURL = made.Origin, made.Path, made.Address, made.Query, made.WholeURL
	q.Headers, q.Cookies, q.Body, q.HasBody, q.FollowRedirects = made.Headers, made.Cookies, made.Body, made.HasBody, made.FollowRedirects
	return &q
}

func (r *reader) requestFields(q *plan.Request, d *draft) map[string]func(*node) {
	body := func(name, contentType string, read func(*node)) func(*node) {
		return func(n *node) {
			if n.kind == expr.KindNull || n.kind == expr.KindString && n.text == "" || n.kind == expr.KindBool && n.text == "false" {
				return // nothing is sent
			}
			if (name == "json" || name == "body") && n.kind == expr.KindString && r.callsNothing(n, n.text) {
				return
			}
			q.HasBody, d.bodies = true, append(d.bodies, name)
			if contentType != "" {
				d.contentType = expr.Template(nil).Literal(contentType)
			}
			read(n)
		}
	}
	compiled := func(into *expr.Template, read func(*node) expr.Template) func(*node) {
		return func(n *node) { *into = read(n) }
	}
	url := func(v *node) { d.url = v }
	return map[string]func(*node){
		"url": url, "uri": url,
		"name": str(&q.Name),
		"headers": func(v *node) {
			d.headers = plan.MergeHeaders(r.headers(v), d.headers) // auth stays in its place
		},
		"qs": compiled(&d.query, r.query),
		"json": body("json", "application/json", func(v *node) {
			q.Body = r.json(v)
			d.json = q.Body
		}),
		"body": body("body", "", compiled(&q.Body, r.text)),
		"form": body("form", "application/x-www-form-urlencoded", compiled(&q.Body, r.form)),
		"formData": body("formData", "", func(v *node) {
			q.Body, d.contentType = r.formData(v)
		}),
		"auth":   func(v *node) { r.auth(d, v) },
		"cookie": func(v *node) { r.cookie(&q.Cookies, v) },
		"gzip": func(v *node) {
			boolean(&d.asksCompressed)(v)
		},
		"allowGetBody":  boolean(&d.getsWithBody),
		"beforeRequest": r.hooks(&d.before), "afterResponse": r.hooks(&d.after),
		"followRedirect": boolean(&q.FollowRedirects),
		"capture":        func(v *node) { r.captures(q, v, false) },
		"match":          func(v *node) { r.captures(q, v, true) },
		"expect":         func(v *node) { r.expect(q, v) },
		"probability":    number(&d.chance, 0, math.MaxFloat64),
		"ifTrue":         func(v *node) { d.when = r.condition(v, "ifTrue") },
	}
}

// text reads a text with expressions, to be written as it is.
func (r *reader) text(n *node) expr.Template {
	var text string
	str(&text)(n)
	return r.compileTemplate(n, text, expr.AsText)
}

// auth reads {user, pass} as HTTP's basic authentication (RFC 7617).
func (r *reader) auth(d *draft, n *node) {
	var user, pass expr.Template
	read := func(into *expr.Template) func(*node) {
		return func(v *node) { *into = r.text(v) }
	}
	r.fields(n, "auth", map[string]func(*node){
		"user": read(&user), "username": read(&user), "pass": read(&pass), "password": read(&pass),
	})
	d.headers = plan.MergeHeaders(d.headers, []plan.HeaderField{{Name: "authorization", Value: user.Literal(":").Join(pass).Map(plan.Basic)}})
}

// cookie reads a mapping of names to values, put over those that are there.
func (r *reader) cookie(into *[]plan.HeaderField, n *node) {
	for _, f := range n.mapping("a mapping of cookies to values is wanted here") {
		if f.name == "" || !httpguts.ValidHeaderFieldName(f.name) {
			panic(n.Invalid("%q is not a cookie's name", f.name))
		}
		t := expr.Template(nil).Literal("undefined")
		if f.value.kind != expr.KindString || !r.callsNothing(f.value, f.value.text) {
			t = r.text(f.value)
		}
		*into = plan.MergeHeaders(*into, []plan.HeaderField{{Name: f.name, Value: t}})
	}
}

// url reads a URL, relative to the target or absolute. Where its host is known
// only when it is rendered, all of it is.
func (r *reader) url(q *plan.Request, n *node, query expr.Template) {
	var text string
	str(&text)(n)
	text, _, _ = strings.Cut(strings.TrimSpace(text), "#")
	if len(query) > 0 {
		text, _, _ = strings.Cut(text, "?") // qs stands in place of it, as in Artillery
	}
	if scheme := strings.Index(text, "://"); strings.HasPrefix(text, "{{") ||
		scheme >= 0 && strings.Contains(text[:plan.OriginLength(text)], "{{") {
		whole := r.address(n, text)
		fixed, ok := whole.Constant()
		if !ok {
			q.Address, q.Query, q.WholeURL = whole, query, q.KeepMethod
			return
		}
		text = fixed // it was of the environment only
	}
	if end := plan.OriginLength(text); end > 0 {
		q.Origin, text = text[:end], text[end:]
		if u, err := url.Parse(q.Origin); err != nil || u.Host == "" {
			panic(n.Invalid("%q is not a url", q.Origin))
		}
		if _, err := plan.ParseBase(q.Origin); err != nil {
			panic(n.Invalid("%v", err))
		}
	}
	if !strings.HasPrefix(text, "/") && q.Origin == "" && q.KeepMethod {
		r.note(n, "the url %.100q does not begin with a slash: it is not sent, as by Artillery, and ends its user", text)
		q.Address, q.Query, q.WholeURL = r.address(n, text), query, true
		return
	}
	if !strings.HasPrefix(text, "/") {
		text = "/" + text
	}
	if q.Origin == "" && strings.HasSuffix(r.target(), "/") && q.KeepMethod {
		text = "/" + text // both slashes stay
	}
	q.Path = r.address(n, text).Join(afterPath(query))
}

// afterPath is a query with its question mark, which goes with what comes after it.
func afterPath(query expr.Template) expr.Template {
	if begin, fixed := query.Beginning(); fixed {
		return expr.Template(nil).Literal("?"[:min(len(begin), 1)]).Join(query)
	}
	return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		return expr.TextValue(strings.TrimSuffix("?"+string(query.Render(nil, s)), "?"))
	}}, expr.AsText)
}

// address compiles a URL, its query apart.
func (r *reader) address(n *node, text string) expr.Template {
	depth := 0
	for i := range len(text) {
		switch {
		case strings.HasPrefix(text[i:], "{{"):
			depth++
		case strings.HasPrefix(text[i:], "}}"):
			depth = max(depth-1, 0)
		case text[i] == '?' && depth == 0:
			return r.compileTemplate(n, text[:i+1], expr.InTarget).Join(r.compileTemplate(n, text[i+1:], expr.InSearch))
		}
	}
	return r.compileTemplate(n, text, expr.InTarget)
}
