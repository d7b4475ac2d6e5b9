package jmeter

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// charsetOf reads a sampler's content encoding, by Java's name of it.
func (j *reader) charsetOf(s *sample) string {
	p := s.find("HTTPSampler.contentEncoding")
	text, ok := j.compile(p.at, strings.TrimSpace(p.text), expr.AsText).Constant()
	switch enc := strings.ToUpper(text); {
	case !ok:
	case enc == "" || enc == "UTF-8" || enc == "UTF8":
		return "UTF-8"
	case enc == "US-ASCII":
		return enc
	}
	panic(p.at.Errorf(whittle.Unsupported, "the content encoding %s is not supported: texts are sent in UTF-8", p.text))
}

// formEscape is URLEncoder's: a space is +, and letters, digits, - _ . and * stay.
func formEscape(text string) string { return string(expr.AppendForm(nil, text)) }

// formDecode is URLDecoder's; what it cannot decode stays.
func formDecode(text string) string {
	if plain, err := url.QueryUnescape(text); err == nil {
		return plain
	}
	return text
}

// content reads where a sampler sends and what.
func (j *reader) content(s *sample, q *plan.Request) {
	set := j.charsetOf(s)
	arguments, raw := j.argumentsOf(s)
	files := j.uploads(s)
	var query expr.Template
	multi := s.isFound("HTTPSampler.DO_MULTIPART_POST")
	switch {
	case len(files) == 1 && files[0].name == "" && !withoutEntity(q.Method) && !multi:
		q.Body, q.HasBody = expr.Template(nil).Literal(files[0].content), true
		j.contentType(q, files[0].kind)
	case (len(files) > 0 || multi) && !withoutEntity(q.Method) && (q.Method != http.MethodGet || raw):
		if q.Method == http.MethodDelete && !raw {
			query = j.pairs(arguments, inQuery)
		}
		j.multipart(s, q, set, arguments, files)
	case raw && withoutEntity(q.Method):
	case raw:
		for _, a := range arguments {
			value := j.text(a, "Argument.value")
			if a.is("HTTPArgument.always_encode") {
				value = value.Map(formEscape)
			}
			q.Body = q.Body.Join(value)
		}
		q.HasBody = len(arguments) > 0
		if q.HasBody {
			j.contentType(q, "text/plain; charset="+set)
		}
	default:
		if q.Method == http.MethodGet || q.Method == http.MethodDelete || q.Method == http.MethodOptions {
			query = j.pairs(arguments, inQuery)
		}
		if !slices.Contains(bodiless, q.Method) {
			q.Body, q.HasBody = j.pairs(arguments, inForm), true
			j.contentType(q, "application/x-www-form-urlencoded; charset="+set)
		}
	}
	j.address(s, q, query)
}

// bodiless are the methods with which JMeter sends no form.
var bodiless = []string{http.MethodGet, http.MethodHead, http.MethodTrace, http.MethodOptions}

// withoutEntity reports whether JMeter sends no body of a method but that of a form.
func withoutEntity(method string) bool {
	return method == http.MethodHead || method == http.MethodTrace || method == http.MethodOptions
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

// What arguments are written as.
const (
	inQuery = false
	inForm  = true
)

// pairs writes arguments as a query or a form. Those without a name are left out. As
// in JMeter, those of a query that do not ask to be encoded are sent as they are, as
// far as a request line allows, and those of a form are decoded and encoded again. A space in one that is not encoded keeps a
// request with such a query from being sent.
func (j *reader) pairs(arguments []*tag, form bool) expr.Template {
	var t expr.Template
	for _, a := range arguments {
		if a.value("Argument.name") == "" {
			continue
		}
		write := formEscape
		switch always := a.is("HTTPArgument.always_encode"); {
		case always:
		case form:
			write = func(text string) string { return formEscape(formDecode(text)) }
		default:
			// No URL has a space: what stands in its place is found by illegalTarget.
			write = func(text string) string { return shownText(strings.ReplaceAll(text, " ", "<space>")) }
		}
		name := j.text(a, "Argument.name").Map(write)
		val := j.text(a, "Argument.value").Map(write)
		if len(t) > 0 {
			t = t.Literal("&")
		}
		sep := "="
		if !form {
			sep = shownText(a.value("Argument.metadata")) // JMeter writes it between the two, whatever it is
		}
		t = t.Join(name).Literal(sep).Join(val)
	}
	return t
}

// upload is a file that a sampler sends.
type upload struct {
	path, content, name, kind string
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
			if u.path = j.fixed(f, "File.path"); u.path == "" {
				continue
			}
			src := j.OpenFile(f.where("File.path"), u.path)
			if j.uploaded += len(src); j.uploaded > plan.MaxFileBytes {
				panic(f.where("File.path").Errorf(whittle.ResourceExhausted, "the plan's files have more than %d bytes together", plan.MaxFileBytes))
			}
			u.content = string(src)
			out = append(out, u)
		}
	}
	return out
}

// multipart writes arguments and files as multipart/form-data, as JMeter does.
func (j *reader) multipart(s *sample, q *plan.Request, set string, arguments []*tag, files []upload) {
	// A boundary must not be in what it bounds; one that is made of that is not.
	sum := sha256.New()
	for _, f := range files {
		sum.Write([]byte(f.content))
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
		kind += "; charset=" + set
		if browser {
			kind = ""
		}
		t = part(t, expr.Template(nil).Literal(`name="`+name+`"`), kind, "8bit").Join(j.text(a, "Argument.value")).Literal("\r\n")
	}
	for _, f := range files {
		if f.kind == "" {
			const why = "a file without a MIME type is no part of a form"
			j.noteOf(s.element, "is not sent, as by JMeter: %s", why)
			q.Illegal = func(string) string { return why }
		}
		of := expr.Template(nil).Literal(`name="` + f.name + `"; filename="` + filepath.Base(f.path) + `"`)
		t = part(t, of, f.kind, "binary").Literal(f.content + "\r\n")
	}
	q.Body, q.HasBody = t.Literal("--"+boundary+"--\r\n"), true
	q.Headers = slices.DeleteFunc(slices.Clone(q.Headers), func(h plan.HeaderField) bool { return h.Name == "content-type" })
	q.ContentType = "multipart/form-data; boundary=" + boundary + "; charset=" + set
}
