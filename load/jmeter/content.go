package jmeter

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// charset is how a sampler's texts become bytes: its content encoding.
type charset struct {
	name    string
	latin1  bool
	unknown bool // to Java, so that JMeter cannot encode by it
}

// javaCharsets are what the names begin with of the charsets that Java knows, and of more.
var javaCharsets = regexp.MustCompile(`^(\d|[a-z]\d|us$|ans|ara|asc|asm|big|ccs|ces|cns|cp|cs|cyr|def|ebc|ecm|elo|euc|ext|gb|gre|heb|hk|hp|ibm|isc|iso|jis|joh|koi|ks|kz|lat|mac|ms|pc|shi|sji|st_|sun|tis|uni|us-|utf|win|x-)`)

// charsetName is what a charset's name is made of.
var charsetName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._:-]*$`)

// charsetOf reads a sampler's content encoding.
func (j *reader) charsetOf(s *sample) charset {
	p := s.find("HTTPSampler.contentEncoding")
	text, ok := j.compile(p.at, strings.TrimSpace(p.text), expr.AsText).Constant()
	switch enc := strings.ToUpper(text); {
	case !ok:
	case enc == "":
		return charset{name: "UTF-8"}
	case enc == "UTF-8" || enc == "UTF8":
		return charset{name: "UTF-8"} // Java's name of it, however it is written
	case enc == "US-ASCII":
		return charset{name: enc}
	case enc == "ISO-8859-1":
		return charset{name: enc, latin1: true}
	case !charsetName.MatchString(enc), !javaCharsets.MatchString(strings.ToLower(enc)):
		return charset{name: text, unknown: true}
	}
	panic(p.at.Errorf(whittle.Unsupported, "the content encoding %s is not supported: texts are sent in UTF-8 or ISO-8859-1", p.text))
}

// byUnknown notes what JMeter sends of a sampler whose charset Java does not know: nothing
// with a body, and of a query the values that are not to be encoded.
func (j *reader) byUnknown(s *sample, q *plan.Request, set charset, sends bool) {
	what := "values that are to be encoded are empty"
	if sends {
		what = "it is not sent"
		q.Illegal = func(string) string {
			return "Java, in which JMeter is written, does not know the content encoding " + set.name
		}
	}
	j.noteOf(s.element, "has a content encoding that Java does not know, %q: %s, as by JMeter", set.name, what)
}

// encode writes a text in the charset.
func (c charset) encode(text string) string {
	if !c.latin1 {
		return text
	}
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			r = '?'
		}
		b = append(b, byte(r))
	}
	return string(b)
}

// formEscape is URLEncoder's: a space is +, and letters, digits, - _ . and * stay.
func (c charset) formEscape(text string) string {
	return string(expr.AppendForm(nil, c.encode(text)))
}

// formAgain encodes what is encoded already: JMeter decodes it first.
func (c charset) formAgain(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		text = plain
	}
	return c.formEscape(text)
}

// mapped is a template whose text goes through a function.
func mapped(t expr.Template, f func(string) string) expr.Template {
	if text, ok := t.Constant(); ok {
		return expr.Template(nil).Literal(f(text))
	}
	return expr.Template(nil).Expression(expr.Expression{Eval: func(s *expr.Scope) expr.Value {
		return expr.TextValue(f(t.Text(s)))
	}}, expr.AsText)
}

// content reads where a sampler sends and what.
func (j *reader) content(s *sample, q *plan.Request, env *elementScope) {
	set := j.charsetOf(s)
	arguments, raw := j.argumentsOf(s)
	files := j.uploads(s)
	if set.unknown {
		if len(files) > 0 || s.isFound("HTTPSampler.DO_MULTIPART_POST") || s.byJava() || raw && withoutEntity(q.Method) || len(arguments) == 0 && q.Method != http.MethodPost && !slices.Contains(bodiless, q.Method) {
			panic(s.find("HTTPSampler.contentEncoding").at.Errorf(whittle.Unsupported, "%s: a content encoding that Java does not know, %s, is not supported here", s.title(), set.name))
		}
		j.byUnknown(s, q, set, raw || !slices.Contains(bodiless, q.Method))
	}
	var query expr.Template
	multi, form := s.isFound("HTTPSampler.DO_MULTIPART_POST"), false
	switch {
	case s.sendsNoBody(q.Method, raw, files):
		if q.Method == http.MethodGet || q.Method == http.MethodDelete || q.Method == http.MethodOptions {
			query = j.pairs(arguments, set, inQuery)
		}
	case len(files) == 1 && files[0].name == "" && !withoutEntity(q.Method) && !multi:
		q.Body, q.HasBody = files[0].content, true
		j.contentType(q, files[0].kind)
	case (len(files) > 0 || multi) && !withoutEntity(q.Method) && (q.Method != http.MethodGet || raw):
		if q.Method == http.MethodDelete && !raw {
			query = j.pairs(arguments, set, inQuery)
		}
		j.multipart(s, q, set, arguments, files)
	case raw && withoutEntity(q.Method):
	case raw:
		for _, a := range arguments {
			q.Body = q.Body.Join(j.text(a, "Argument.value"))
		}
		q.Body = set.body(q.Body)
		q.HasBody = len(arguments) > 0
		if q.HasBody {
			j.contentType(q, s.kindByJava(q, "text/plain; charset="+set.name))
		}
	default:
		if q.Method == http.MethodGet || q.Method == http.MethodDelete || q.Method == http.MethodOptions {
			query = j.pairs(arguments, set, inQuery)
		}
		if !slices.Contains(bodiless, q.Method) {
			q.Body, q.HasBody = j.pairs(arguments, set, s.kindOfForm()), true
			form = q.Method != http.MethodDelete
			j.contentType(q, s.kindByJava(q, "application/x-www-form-urlencoded; charset="+set.name))
		}
	}
	j.address(s, q, query)
	switch {
	case form && len(q.Body) == 0:
		q.Body = j.rewriting(env, "")
	case form:
		q.Body = q.Body.Join(j.rewriting(env, "&"))
	case len(query) > 0 || strings.Contains(s.path(), "?"):
		j.appendToTarget(q, j.rewriting(env, "&"))
	default:
		j.appendToTarget(q, j.rewriting(env, "?"))
	}
	for _, f := range files {
		if _, fixed := f.path.Constant(); !fixed {
			j.appendToTarget(q, j.missingFile(f.path))
		}
	}
}

// bodiless are the methods of which JMeter sends no form.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodTrace, http.MethodOptions}

// withoutEntity reports whether JMeter sends no body of a method but that of a form.
func withoutEntity(method string) bool {
	return method == http.MethodHead || method == http.MethodTrace || method == http.MethodOptions
}

// appendToTarget adds to what a request asks for.
func (j *reader) appendToTarget(q *plan.Request, t expr.Template) {
	if q.Address != nil {
		q.Address = q.Address.Join(t)
	} else {
		q.Path = q.Path.Join(t)
	}
}

// sendsNoBody reports whether Java's own client sends no body: it sends one of a POST, and
// of a PUT what is raw or one file.
func (s *sample) sendsNoBody(method string, raw bool, files []upload) bool {
	switch {
	case !s.byJava() || method == http.MethodPost:
		return false
	case method == http.MethodPut:
		return !raw && (len(files) != 1 || files[0].name != "")
	default:
		return true
	}
}

// kindByJava is a body's content type: Java's own client says what it is only of a POST.
func (s *sample) kindByJava(q *plan.Request, kind string) string {
	switch {
	case !s.byJava():
		return kind
	case q.Method == http.MethodPost:
		return "application/x-www-form-urlencoded"
	default:
		return ""
	}
}

// body is a raw body in the charset.
func (c charset) body(t expr.Template) expr.Template {
	if !c.latin1 {
		return t
	}
	return mapped(t, c.encode)
}

// contentType gives a request a content type where the plan's headers have none.
func (j *reader) contentType(q *plan.Request, kind string) {
	if !q.HasHeader("content-type") {
		q.ContentType = kind
	}
}

// argumentsOf lists a sampler's own and then those of the defaults around it, the
// innermost first. They are the pieces of a raw body where the sampler says so, or
// where none has a name.
func (j *reader) argumentsOf(s *sample) (out []*tag, raw bool) {
	raw, named := s.isFound("HTTPSampler.postBodyRaw"), false
	for _, e := range append([]*element{s.element}, s.defaults...) {
		if t := e.prop("HTTPsampler.Arguments"); t != nil {
			if list := t.prop("Arguments.arguments"); list != nil {
				out = append(out, list.children...)
			}
		}
	}
	for _, a := range out {
		named = named || a.value("Argument.name") != ""
	}
	return out, raw || len(out) > 0 && !named
}

// pairing is what arguments are written as.
type pairing int

const (
	inQuery pairing = iota
	inForm
	inFormByJava
)

// sendsForm reports whether a sampler's body is a form: neither raw nor a file.
func (s *sample) sendsForm(j *reader) bool {
	_, raw := j.argumentsOf(s)
	return !raw && len(j.uploads(s)) == 0
}

func (s *sample) kindOfForm() pairing {
	if s.byJava() {
		return inFormByJava
	}
	return inForm
}

// pairs writes arguments as a query or a form. Those without a name are left out. As
// in JMeter, those of a query that do not ask to be encoded are sent as they are, as
// far as a request line allows, and those of a form are decoded and encoded again, but
// by Java's own client sent as they are. A space in one that is not encoded keeps a
// request with such a query from being sent.
func (j *reader) pairs(arguments []*tag, set charset, kind pairing) expr.Template {
	var t expr.Template
	for _, a := range arguments {
		if a.value("Argument.name") == "" {
			continue
		}
		write := set.formEscape
		switch always := a.is("HTTPArgument.always_encode"); {
		case always:
		case kind == inForm:
			write = set.formAgain
		case kind == inFormByJava:
			write = set.encode
		default:
			write = asIs
		}
		name := mapped(j.text(a, "Argument.name"), write)
		if set.unknown && a.is("HTTPArgument.always_encode") {
			write = func(string) string { return "" }
		}
		val := mapped(j.text(a, "Argument.value"), write)
		if len(t) > 0 {
			t = t.Literal("&")
		}
		sep := "="
		if kind != inForm {
			sep = a.value("Argument.metadata") // JMeter writes it between the two, whatever it is
		}
		if kind == inQuery {
			sep = shownText(sep)
		}
		t = t.Join(name).Literal(sep).Join(val)
	}
	return t
}

// upload is a file that a sampler sends.
type upload struct {
	path, content expr.Template
	name, kind    string
}

// uploads reads the files that a sampler sends: its own, or those of the defaults.
func (j *reader) uploads(s *sample) []upload {
	var out []upload
	for _, e := range append([]*element{s.element}, s.defaults...) {
		t := e.prop("HTTPsampler.Files")
		if t == nil || t.prop("HTTPFileArgs.files") == nil {
			continue
		}
		for _, f := range t.prop("HTTPFileArgs.files").children {
			u := upload{name: j.fixed(f, "File.paramname"), kind: j.fixed(f, "File.mimetype")}
			u.path = j.trimmed(f, "File.path")
			switch path, fixed := u.path.Constant(); {
			case fixed && path == "":
				continue
			case fixed:
				src := j.openFile(f.where("File.path"), path)
				if j.uploaded += len(src); j.uploaded > plan.MaxFileBytes {
					panic(f.where("File.path").Errorf(whittle.ResourceExhausted, "the plan's files have more than %d bytes together", plan.MaxFileBytes))
				}
				u.content = expr.Template(nil).Literal(string(src))
			default:
				u.content = j.fileText(u.path)
			}
			out = append(out, u)
		}
	}
	return out
}

// asIs is a part of a query that JMeter does not encode. No URL has a space: what stands
// in its place is found by illegalTarget.
func asIs(text string) string { return shownText(strings.ReplaceAll(text, " ", "<space>")) }

// multipart writes arguments and files as multipart/form-data, as JMeter does.
func (j *reader) multipart(s *sample, q *plan.Request, set charset, arguments []*tag, files []upload) {
	// A boundary must not be in what it bounds; one that is made of that is not.
	sum := sha256.New()
	for _, f := range files {
		text, _ := f.content.Constant() // another is not known yet, and has the boundary by a chance of 1 in 2^96
		sum.Write([]byte(text))
	}
	boundary := "whittle" + hex.EncodeToString(sum.Sum(nil))[:24]
	browser := s.isFound("HTTPSampler.BROWSER_COMPATIBLE_MULTIPART")
	part := func(t, disposition expr.Template, kind, transfer string) expr.Template {
		t = t.Literal("--" + boundary + "\r\nContent-Disposition: form-data; ").Join(disposition).Literal("\r\n")
		if kind != "" {
			t = t.Literal("Content-Type: " + kind + "\r\n")
		}
		if !browser {
			t = t.Literal("Content-Transfer-Encoding: " + transfer + "\r\n")
		}
		return t.Literal("\r\n")
	}
	var t expr.Template
	for _, a := range arguments {
		name := j.fixed(a, "Argument.name")
		if name == "" {
			continue
		}
		kind := j.fixed(a, "HTTPArgument.content_type")
		if kind == "" {
			kind = "text/plain"
		}
		kind += "; charset=" + set.name
		if browser {
			kind = ""
		}
		t = part(t, expr.Template(nil).Literal(`name="`+name+`"`), kind, "8bit").Join(set.body(j.text(a, "Argument.value"))).Literal("\r\n")
	}
	for _, f := range files {
		if f.kind == "" {
			const why = "a file without a MIME type is no part of a form"
			j.noteOf(s.element, "is not sent, as by JMeter: %s", why)
			q.Illegal = func(string) string { return why }
		}
		of := expr.Template(nil).Literal(`name="` + f.name + `"; filename="`).Join(mapped(f.path, filepath.Base)).Literal(`"`)
		t = part(t, of, f.kind, "binary").Join(f.content).Literal("\r\n")
	}
	q.Body, q.HasBody = t.Literal("--"+boundary+"--\r\n"), true
	q.Headers = slices.DeleteFunc(slices.Clone(q.Headers), func(h plan.HeaderField) bool { return h.Name == "content-type" })
	q.ContentType = "multipart/form-data; boundary=" + boundary + "; charset=" + set.name
}
