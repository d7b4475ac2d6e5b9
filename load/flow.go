package load

import (
	"net/url"
	"slices"
	"strings"

	"whittle"
)

var hooks = map[string]string{
	"beforeRequest": javaScript, "afterResponse": javaScript, "beforeScenario": javaScript,
	"afterScenario": javaScript, "onError": javaScript, "function": javaScript,
}

func (r *reader) scenarios(n *node) error {
	if n.kind != kindList || len(n.items) == 0 {
		return n.invalid("scenarios is a list of at least one, not %s", n.kind)
	}
	for _, item := range n.items {
		s := scenario{weight: 1}
		engine := ""
		var flow *node
		err := r.fields(item, "a scenario", map[string]func(*node) error{
			"name":   str(&s.name),
			"weight": number(&s.weight, 0, 1e9),
			"engine": oneOf(&engine, "http"),
			"flow":   func(n *node) error { flow = n; return nil },
		}, hooks)
		if err != nil {
			return err
		}
		if flow == nil {
			return item.invalid("a scenario has a flow")
		}
		if s.steps, err = r.flow(flow); err != nil {
			return err
		}
		r.plan.weight += s.weight
		r.plan.scenarios = append(r.plan.scenarios, s)
	}
	if r.plan.weight <= 0 {
		return n.invalid("the scenarios' weights add up to 0")
	}
	if len(r.names) == 0 {
		return n.invalid("no scenario sends a request")
	}
	return nil
}

func (r *reader) flow(n *node) ([]step, error) {
	if n.kind != kindList {
		return nil, n.invalid("a flow is a list of steps, not %s", n.kind)
	}
	var steps []step
	for _, item := range n.items {
		if item.kind != kindMap || len(item.fields) == 0 {
			return nil, item.invalid("a step is a mapping such as get: {url: /}, not %s", describe(item))
		}
		s, err := r.step(item)
		if err != nil {
			return nil, err
		}
		if s != (step{}) {
			steps = append(steps, s)
		}
	}
	return steps, nil
}

var methods = []string{"get", "post", "put", "patch", "delete", "head", "options"}

func (r *reader) step(n *node) (step, error) {
	var s step
	var err error
	known := map[string]func(*node) error{
		"think": func(n *node) error {
			s.think = new(think)
			return duration(&s.think.pause, maxDuration)(n)
		},
		"loop": func(v *node) error {
			s.loop, err = r.loop(n, v)
			return err
		},
		// What a loop repeats is read with the loop; a log line is for whoever
		// wrote the plan, and would drown the report of a thousand users.
		"count": onlyWith(n, "loop"), "over": onlyWith(n, "loop"), "log": func(*node) error { return nil },
	}
	for _, m := range methods {
		known[m] = func(v *node) error {
			s.request, err = r.request(strings.ToUpper(m), v)
			return err
		}
	}
	refused := map[string]string{
		"parallel": "a virtual user does one thing after another", "whileTrue": javaScript,
		"loopValue": "the element is {{ $loopElement }}", "loopElement": "the element is {{ $loopElement }}",
	}
	for k, v := range hooks {
		refused[k] = v
	}
	if err := r.fields(n, "a step", known, refused); err != nil {
		return s, err
	}
	actions := 0
	for _, f := range n.fields {
		if f.name == "think" || f.name == "loop" || f.name == "log" || slices.Contains(methods, f.name) {
			actions++
		}
	}
	if actions != 1 {
		return s, n.invalid("a step does one thing, this one %d", actions)
	}
	return s, nil
}

func onlyWith(n *node, other string) func(*node) error {
	return func(v *node) error {
		if n.get(other) == nil {
			return v.invalid("this belongs to a %s", other)
		}
		return nil
	}
}

func (r *reader) loop(n, body *node) (*loop, error) {
	steps, err := r.flow(body)
	if err != nil {
		return nil, err
	}
	l := &loop{steps: steps}
	count, over := n.get("count"), n.get("over")
	switch {
	case count != nil && over != nil:
		return nil, n.invalid("a loop has either count or over")
	case count != nil:
		return l, whole(&l.count, 1, maxLoops)(count)
	case over == nil:
		return nil, n.errorf(whittle.Unsupported, "a loop without count or over is not supported: it would never end")
	case over.kind != kindList:
		return nil, over.errorf(whittle.Unsupported, "a loop over %s is not supported: over takes a list", describe(over))
	}
	l.over = []value{}
	for _, item := range over.items {
		v, err := r.valueOf(item)
		if err != nil {
			return nil, err
		}
		l.over = append(l.over, v)
	}
	return l, nil
}

func (r *reader) request(method string, n *node) (*request, error) {
	q := &request{method: method, headers: r.plan.HTTP.headers}
	var at *node
	var query template
	var own []headerField
	contentType := ""
	follow := false
	err := r.fields(n, "a request", map[string]func(*node) error{
		"url":  func(v *node) error { at = v; return nil },
		"name": str(&q.name),
		"headers": func(v *node) (err error) {
			own, err = r.headers(v)
			return err
		},
		"qs": func(v *node) (err error) {
			query, err = r.pairs(v)
			return err
		},
		"json": func(v *node) (err error) {
			q.body, err = r.json(v)
			q.hasBody, contentType = true, "application/json"
			return err
		},
		"body": func(v *node) error { return r.body(q, v) },
		"form": func(v *node) (err error) {
			q.body, err = r.pairs(v)
			q.hasBody, contentType = true, "application/x-www-form-urlencoded"
			return err
		},
		"expect": func(v *node) error { return r.expect(q, v) },
		"followRedirect": func(v *node) error {
			if err := boolean(&follow)(v); err != nil || !follow {
				return err
			}
			return v.errorf(whittle.Unsupported, "followRedirect: true is not supported: a redirect is an answer here")
		},
	}, requestRefusals)
	if err != nil {
		return nil, err
	}
	bodies := 0
	for _, f := range []string{"json", "body", "form"} {
		if n.get(f) != nil {
			bodies++
		}
	}
	if bodies > 1 {
		return nil, n.invalid("a request has one of json, body and form")
	}
	if at == nil {
		return nil, n.invalid("a request has a url")
	}
	if err := r.url(q, at, query); err != nil {
		return nil, err
	}
	if q.name == "" {
		q.name = method + " " + at.text
	}
	q.index = r.nameIndex(q.name)
	q.headers = mergeHeaders(q.headers, own)
	if contentType != "" && !q.has("content-type") {
		q.headers = mergeHeaders(q.headers, []headerField{{"content-type", template(nil).literal(contentType)}})
	}
	return q, nil
}

var requestRefusals = map[string]string{
	"beforeRequest": javaScript, "afterResponse": javaScript, "ifTrue": javaScript,
	"capture": "answers are not kept for later requests", "match": "use expect: {statusCode: …}",
	"cookie": "give a cookie header instead", "auth": "give an authorization header instead",
	"formData": "use form, or body with a content-type header", "gzip": "bodies are sent and counted as they are",
	"probability": "use scenarios with weights",
}

func (r *reader) body(q *request, n *node) (err error) {
	var text string
	if err := str(&text)(n); err != nil {
		return err
	}
	q.hasBody = true
	q.body, err = r.compileTemplate(n, text, asText)
	return err
}

// url reads a URL, relative to the target or absolute.
func (r *reader) url(q *request, n *node, query template) error {
	var text string
	if err := str(&text)(n); err != nil {
		return err
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "#")
	if strings.HasPrefix(text, "{{") {
		return n.errorf(whittle.Unsupported, "a url that begins with a template is not supported: write its host, or begin with /")
	}
	if i := strings.Index(text, "://"); i >= 0 && !strings.ContainsAny(text[:i], "/?{") {
		end := len(text)
		if j := strings.IndexAny(text[i+3:], "/?"); j >= 0 {
			end = i + 3 + j
		}
		q.origin, text = text[:end], text[end:]
		if strings.Contains(q.origin, "{{") {
			return n.errorf(whittle.Unsupported, "a template in a url's host is not supported")
		}
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
	if len(query) > 0 {
		sep := "?"
		if strings.Contains(text, "?") {
			sep = "&"
		}
		path = path.literal(sep).join(query)
	}
	q.path = path
	return nil
}
