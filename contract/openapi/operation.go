package openapi

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"whittle"
	"whittle/contract"
)

// item reads the operations of one path.
func (r *reader) item(path string, item *node) {
	for _, method := range []string{"get", "post", "put", "patch", "delete"} {
		op, _ := r.follow(item.get(method)) // bundlers take a $ref here too
		if op == nil {
			continue
		}
		if len(r.c.Methods) >= maxMethods {
			panic(invalid(op.at, "the document has more than %d operations", maxMethods))
		}
		base, why := r.base(item, op)
		if why != "" {
			r.guess(strings.ToUpper(method)+" "+path, "left out", "a method", why)
			continue
		}
		r.operation(strings.ToUpper(method), base+path, item, op)
	}
	for _, method := range []string{"head", "options", "trace"} {
		if item.get(method) != nil {
			r.guess(strings.ToUpper(method)+" "+path, "left out", "a method", "no message carries its response")
		}
	}
}

func (r *reader) operation(method, path string, item, op *node) {
	m := contract.Method{HTTP: contract.Binding{Method: method}, Safe: method == "GET"}
	m.Name = cmp.Or(op.str("operationId"), strings.ToLower(method)+"_"+path)
	free := func(n string) bool { return r.taken[n] || r.taken[n+"Request"] || r.taken[n+"Response"] }
	m.Name = contract.Unique(contract.TypeName(m.Name), "", free)
	m.Input, m.Output = m.Name+"Request", m.Name+"Response"
	for _, n := range []string{m.Name, m.Input, m.Output} {
		r.taken[n] = true
	}
	m.Doc = strings.Join(strings.Fields(op.str("summary")+" "+op.str("description")), " ")
	r.at = &m
	defer func() { r.at = nil }()
	in, out := r.add(m.Input, op.at), r.add(m.Output, op.at)
	input, why := r.input(&m, path, item, op)
	var output []contract.Field
	if why == "" {
		output, why = r.output(&m, op)
	}
	if why != "" {
		// The messages stay, empty, unless they are the last ones.
		r.at = nil
		r.c.Messages = slices.DeleteFunc(r.c.Messages, func(x contract.Message) bool { return x.Name == m.Input || x.Name == m.Output })
		r.guess(method+" "+path, "left out", "a method", why)
		return
	}
	r.c.Messages[in].Fields, r.c.Messages[in].Doc = input, "What "+method+" "+path+" is sent."
	r.c.Messages[out].Fields, r.c.Messages[out].Doc = output, "What "+method+" "+path+" returns."
	m.HTTP.Body.Unset = r.unset(m.Input, m.HTTP.Body.Form, m.HTTP.Body.Field)
	m.HTTP.Response.Unset = r.unset(m.Output, m.HTTP.Response.Form, m.HTTP.Response.Field)
	r.c.Methods = append(r.c.Methods, m)
}

// number gives the fields their numbers, in order.
func number(fields []contract.Field) []contract.Field {
	for i := range fields {
		fields[i].Number = int32(i + 1)
		if i+1 >= 19000 { // protobuf's own are 19000 to 19999
			fields[i].Number += 1000
		}
	}
	return fields
}

// input reads parameters and body. why says why the operation is left out.
func (r *reader) input(m *contract.Method, path string, item, op *node) (fields []contract.Field, why string) {
	body, why := r.body(m, op)
	if why != "" {
		return nil, why
	}
	names := namesFor(body)
	params := r.parameters(item, op)
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		name, open := strings.CutPrefix(s, "{")
		name, closed := strings.CutSuffix(name, "}")
		if !open && !closed {
			literal, ok := literalOf(s)
			if !ok {
				return nil, "its path has " + strconv.Quote(s) + ", which is no literal"
			}
			if s == "." || s == ".." || s == "" && i < len(segments)-1 {
				return nil, "its path has a segment " + strconv.Quote(s) + ", which servers take out of a path"
			}
			segments[i] = contract.Segment(literal)
			continue
		}
		if !open || !closed || strings.ContainsAny(name, "{}") {
			return nil, "its path has a parameter in a part of " + strconv.Quote(s)
		}
		if !isParameter(name) {
			return nil, "its path has " + strconv.Quote(s) + ", which is not the name of one segment"
		}
		f := r.parameter(params, "path", name)
		f.Optional, f.Repeated = false, false
		f.Name = names.Make(contract.FieldName(name), "")
		segments[i] = "{" + f.Name + "}"
		m.HTTP.Path = append(m.HTTP.Path, contract.Parameter{Name: f.Name, Field: f.Name})
		fields = append(fields, f)
	}
	m.HTTP.Pattern = "/" + strings.Join(segments, "/")
	if strings.HasSuffix(m.HTTP.Pattern, "/") {
		m.HTTP.Pattern += "{$}"
	}
	for _, p := range params {
		switch in, name := p.str("in"), p.str("name"); in {
		case "query":
			if why := r.spread(p); why != "" {
				r.guess("query "+name, "not in the message", "its members as fields", label(p, "parameters")+" "+why+"; the monolith gets requests that have them")
				continue
			}
			f := r.parameter([]*node{p}, in, name)
			f.Name = names.Make(contract.FieldName(name), "")
			m.HTTP.Query = append(m.HTTP.Query, contract.Parameter{Name: name, Field: f.Name})
			fields = append(fields, f)
		case "header", "cookie":
			r.guess(in+" "+name, "not in the message", "a field", label(p, "parameters")+" names it")
		}
	}
	for i := range fields {
		fields[i].JSON = contract.DefaultJSON(fields[i].Name)
	}
	names.name(body)
	for i, f := range body {
		switch m.HTTP.Body.Form {
		case contract.Whole, contract.Text:
			m.HTTP.Body.Field = f.Name
		case contract.Form:
			m.HTTP.Body.Pairs = append(m.HTTP.Body.Pairs, contract.Parameter{Name: f.JSON, Field: f.Name})
			if contract.OddKey(f.JSON) { // which no field can be called in JSON
				body[i].JSON = contract.DefaultJSON(f.Name)
			}
		}
	}
	return number(append(fields, body...)), ""
}

// literalOf reads a segment that is no parameter; false: it is none of a path.
func literalOf(s string) (string, bool) {
	literal, err := url.PathUnescape(s)
	return literal, err == nil && !strings.ContainsAny(s, "{}? #")
}

// isParameter says that a parameter's name stands for one whole segment. Other
// spellings are of URI templates ({+path}, {?q}, {path*}) and of routers ({proxy+},
// {path...}, {path:.*}), and mean something else.
func isParameter(name string) bool {
	return strings.ContainsFunc(name, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) &&
		!strings.ContainsAny(name, ":=,|*+?#;&/\\<>()[] ") && name[0] != '.' && !strings.HasSuffix(name, ".")
}

// fieldNames are those of one message.
type fieldNames struct{ *contract.FieldNames }

// namesFor knows the names in JSON that fields have.
func namesFor(fields []contract.Field) fieldNames {
	keys := make([]string, len(fields))
	for i := range fields {
		keys[i] = fields[i].JSON
	}
	return fieldNames{contract.NewFieldNames(keys...)}
}

// nameFields names the fields of a message that has no others.
func nameFields(fields []contract.Field) { namesFor(fields).name(fields) }

// name names fields: first those whose name is the one that they have in JSON.
func (names fieldNames) name(fields []contract.Field) {
	for _, made := range []bool{false, true} {
		for i := range fields {
			if want := contract.FieldName(fields[i].JSON); made == (want != fields[i].JSON) {
				fields[i].Name = names.Make(want, fields[i].JSON)
			}
		}
	}
}

// parameters lists the operation's, and those of its path that it does not have
// itself.
func (r *reader) parameters(item, op *node) []*node {
	var out []*node
	for _, list := range []*node{op.get("parameters"), item.get("parameters")} {
		list, _ := r.follow(list)
		if list == nil || list.kind != isList {
			continue
		}
		for _, n := range list.items {
			p, _ := r.follow(n)
			if !slices.ContainsFunc(out, func(o *node) bool { return o.str("name") == p.str("name") && o.str("in") == p.str("in") }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// parameter gives a parameter's field. One that is not declared is a string.
func (r *reader) parameter(params []*node, in, name string) contract.Field {
	i := slices.IndexFunc(params, func(p *node) bool { return p.str("in") == in && p.str("name") == name })
	if i < 0 {
		return contract.Field{Type: contract.String}
	}
	p := params[i]
	s := r.schema(p.get("schema"), contract.FieldName(name), "", 0)
	f := s.field
	single := f.Type == contract.MessageType || f.Type == contract.Value || f.Map
	explode := p.get("explode") == nil || p.is("explode")
	if single || f.Repeated && (!explode || p.str("style") != "" && p.str("style") != "form") {
		r.guess(in+" "+name, "string", "its parts", label(p, "its schema")+" is written in one text in a way that is not taken apart")
		f = contract.Field{Type: contract.String, Doc: f.Doc}
	}
	f.Optional = !p.is("required") && !f.Repeated
	if d := p.str("description"); d != "" {
		f.Doc = strings.Join(strings.Fields(d), " ")
	}
	return f
}

// spread says how an object's members are written as several parameters of the query, of
// which none has its name. "": they are not.
func (r *reader) spread(p *node) string {
	s, _ := r.follow(p.get("schema"))
	if s == nil || r.kind(s) != "object" && s.get("allOf") == nil && s.get("oneOf") == nil && s.get("anyOf") == nil {
		return ""
	}
	switch explode := p.get("explode") == nil || p.is("explode"); {
	case p.str("style") == "deepObject":
		return "is an object, each member of which is a parameter such as " + p.str("name") + "[member]"
	case explode && (p.str("style") == "" || p.str("style") == "form"):
		return "is an object, each member of which is a parameter of its own"
	}
	return ""
}

// content chooses the media type of a body that a contract has words for: JSON
// before a form before text.
func content(n *node) (mediaType string, media *node, form contract.BodyForm) {
	c := n.get("content")
	if c == nil || len(c.keys) == 0 {
		return "", nil, contract.NoBody
	}
	for _, want := range []contract.BodyForm{contract.Object, contract.Form, contract.Text} {
		for i, k := range c.keys {
			if formOf(k) == want {
				return k, c.items[i], want
			}
		}
	}
	return c.keys[0], c.items[0], ""
}

func formOf(mediaType string) contract.BodyForm {
	t, _, _ := strings.Cut(strings.ToLower(mediaType), ";")
	switch t = strings.TrimSpace(t); {
	case t == "application/json", strings.HasSuffix(t, "+json"), t == "*/*":
		return contract.Object
	case t == "application/x-www-form-urlencoded":
		return contract.Form
	case strings.HasPrefix(t, "text/") && t != "text/event-stream", strings.HasSuffix(t, "xml"):
		return contract.Text
	}
	return ""
}

// body reads a request's body as fields.
func (r *reader) body(m *contract.Method, op *node) (fields []contract.Field, why string) {
	b := &m.HTTP.Body
	b.Form = contract.NoBody
	n, _ := r.follow(op.get("requestBody"))
	if n == nil {
		return nil, ""
	}
	mediaType, media, form := content(n)
	switch form {
	case contract.NoBody:
		return nil, ""
	case "":
		return nil, "the body is " + mediaType
	case contract.Text:
		b.Field, fields = "body", []contract.Field{{JSON: "body", Type: contract.String, Optional: !n.is("required")}}
	default:
		fields, b.Form = r.whole(media.get("schema"), form, m.Input, "body")
		if form == contract.Form && slices.ContainsFunc(fields, func(f contract.Field) bool {
			return f.Type == contract.MessageType || f.Type == contract.Value || f.Map
		}) {
			return nil, "the form has parts that are no texts"
		}
	}
	if form != contract.Object {
		b.Form = form
	} else if mediaType == "*/*" {
		mediaType = "application/json"
	}
	b.ContentType, b.Optional = mediaType, !n.is("required")
	if b.Optional && b.Form == contract.Object {
		for i := range fields {
			fields[i].Optional = !fields[i].Repeated && !fields[i].Map
		}
	}
	return fields, ""
}

// statusOf is the status that a key of responses stands for, one of so many; 0:
// of many.
func statusOf(key string, of int) int {
	switch upper := strings.ToUpper(key); {
	case upper == "2XX", upper == "DEFAULT" && of == 1:
		return 200
	case upper == "3XX":
		return 302
	}
	code, _ := strconv.Atoi(key)
	return code
}

// output reads the success and lists the other responses.
func (r *reader) output(m *contract.Method, op *node) (fields []contract.Field, why string) {
	responses, _ := r.follow(op.get("responses"))
	if responses == nil || responses.kind != isObject {
		return nil, "it has no responses"
	}
	status, success := 0, (*node)(nil)
	redirects := !slices.ContainsFunc(responses.keys, func(k string) bool { return statusOf(k, len(responses.keys))/100 == 2 })
	for i, k := range responses.keys {
		n, _ := r.follow(responses.items[i])
		code := statusOf(k, len(responses.keys))
		succeeds := code/100 == 2 || redirects && contract.Redirects(code)
		switch {
		case succeeds && (status == 0 || code < status):
			if success != nil {
				r.guess("status "+strconv.Itoa(status), "left out", "a second kind of response", label(success, "responses")+" has it")
			}
			status, success = code, n
		case succeeds:
			r.guess("status "+k, "left out", "a second kind of response", label(n, "responses")+" has it")
		case code > 0:
			mediaType, _, _ := content(n)
			m.Failures = append(m.Failures, contract.Failure{Status: code, ContentType: mediaType, Example: whittle.Response{Status: code}})
		}
	}
	if success == nil {
		return nil, "it has no response that is a success"
	}
	a := &m.HTTP.Response
	a.Status = status
	mediaType, media, form := content(success)
	a.ContentType, a.Form = mediaType, form
	switch form {
	case contract.NoBody:
	case contract.Object:
		if mediaType == "*/*" {
			a.ContentType = "application/json"
		}
		fields, a.Form = r.whole(media.get("schema"), form, m.Output, "value")
	case contract.Text:
		fields = []contract.Field{{JSON: "text", Type: contract.String, Doc: "The whole body as text."}}
	default:
		return nil, "the response is " + mediaType
	}
	nameFields(fields)
	switch a.Form {
	case contract.Whole:
		a.Field = fields[0].Name
	case contract.Text:
		a.Parts = []contract.Part{{Field: fields[0].Name}}
	}
	return number(fields), ""
}
