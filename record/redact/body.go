package redact

import (
	"bytes"
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"whittle"
	"whittle/internal/coding"
	"whittle/internal/jsonscan"
)

// MaxBody bounds what a compressed body may become, in bytes.
const MaxBody = 16 << 20

// Why a body is left out. A body that cannot be searched for secrets is
// not kept.
const (
	leftCut      = "it was cut off"
	leftBinary   = "it is neither text nor JSON, so nothing in it can be redacted"
	leftEncoding = "its content encoding cannot be undone"
	leftLarge    = "it is too large once decompressed"
	leftParts    = "its parts cannot be separated"
	leftDeep     = "it is nested too deep"
	leftPaths    = "it is not the JSON that it says or seems to be, so no path can be followed in it"
)

// content redacts a body by what its header says of it. left says why it was
// left out instead; plain is the body without its coding, nil where that cannot be undone.
func (w *work) content(h whittle.Header, b []byte) (out, plain []byte, changed bool, left string) {
	coded := !coding.Plain(h)
	if coded {
		var err error
		switch b, err = coding.Decode(h, b, MaxBody); {
		case errors.Is(err, coding.ErrTooLong):
			return nil, nil, true, leftLarge
		case err != nil:
			return nil, nil, true, leftEncoding
		}
	}
	out, changed, left = w.plain(h.Get("Content-Type"), b, 0)
	return out, b, changed || coded || left != "", left
}

// plain redacts a body without content coding. depth is in how many bodies of
// parts it lies.
func (w *work) plain(contentType string, b []byte, depth int) (out []byte, changed bool, left string) {
	kind, params, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	switch {
	case len(b) == 0:
		return b, false, ""
	case strings.HasPrefix(kind, "multipart/"):
		return w.multipart(contentType, b, depth)
	case !isText(b, params):
		if w.r.other {
			return nil, true, leftBinary
		}
		return b, false, ""
	case kind == "application/x-www-form-urlencoded" && !looksLikeJSON(b): // curl -d says so of JSON too
		out, changed = w.form(b)
		return out, changed, ""
	}
	return w.written(kind, b)
}

// written redacts a text: as JSON where it is JSON, whatever its type says. The
// rules' paths are known in JSON alone, so with them a text that only seems to
// be JSON is left out.
func (w *work) written(kind string, b []byte) (out []byte, changed bool, left string) {
	start, end := envelope(b)
	says := strings.Contains(kind, "json") || strings.HasSuffix(kind, "csp-report")
	looks := start < end && (b[start] == '{' || b[start] == '[')
	if start < end && (says || looks || b[start] == '"') {
		j := rewriter{copied: copied{src: b[start:end]}, w: w}
		out, changed, err := j.all(false)
		switch {
		case err == nil && start == 0 && end == len(b):
			return out, changed, ""
		case err == nil:
			head, found := w.inner(b[:start], 0)
			if !changed && !found {
				return b, false, ""
			}
			return slices.Concat(head, out, b[end:]), true, ""
		case errors.Is(err, jsonscan.Truncated) && b[start] != '"':
			return nil, true, leftCut // half a value may be half a secret
		case errors.Is(err, jsonscan.TooDeep):
			return nil, true, leftDeep
		case len(w.r.paths) > 0 && (says || looks):
			return nil, true, leftPaths
		}
	}
	if kind == "" && looksLikeForm(b) {
		out, changed = w.form(b)
		return out, changed, ""
	}
	out, changed = w.inner(b, 0)
	return out, changed, ""
}

// guard is what services write before JSON so that no page of another site can
// run it as a script: Angular's, Google's, Facebook's and Spring's ways.
var guard = regexp.MustCompile(`^(?:\)\]\}'?,?|while ?\(1\);|for ?\(;;\);|throw 1; ?(?:<[^<>]{0,40}>)?|\{\} ?&&)`)

// callback is what stands before the JSON of JSONP.
var callback = regexp.MustCompile(`^(?:/\*\*/)?[ \r\n\t]*[A-Za-z_$][\w$.]{0,100}\([ \r\n\t]*[{\[]`)

// envelope gives where the JSON of a body begins and ends, if there is any:
// behind a byte order mark, a record separator (RFC 7464), a guard, or within
// the call of JSONP.
func envelope(b []byte) (start, end int) {
	start = between(b, len(b)-len(bytes.TrimPrefix(b, []byte("\ufeff"))))
	if start == len(b) {
		return start, start
	}
	if m := guard.Find(b[start:]); m != nil {
		return between(b, start+len(m)), len(b)
	}
	if m := callback.Find(b[start:]); m != nil {
		if body := bytes.TrimRight(b, "; \r\n\t"); body[len(body)-1] == ')' {
			return start + len(m) - 1, len(body) - 1
		}
	}
	return start, len(b)
}

// isText reports whether a body is text in an encoding that contains
// ASCII, so that the shapes and the names of secrets can be seen in it.
func isText(b []byte, params string) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' && c != 0x1b && c != 0x1e {
			return false
		}
	}
	if utf8.Valid(b) {
		return !strings.Contains(strings.ToLower(params), "utf-7")
	}
	_, charset, _ := strings.Cut(strings.ToLower(params), "charset=")
	charset = strings.Trim(charset, "\"' ")
	return strings.HasPrefix(charset, "iso-8859-") || strings.HasPrefix(charset, "windows-125") || strings.HasPrefix(charset, "latin")
}

// looksLikeJSON reports whether a body that is said to be a form begins as JSON,
// in which an & or an equals sign may be a part of a secret.
func looksLikeJSON(b []byte) bool {
	b = bytes.TrimLeft(b, "\ufeff \r\n\t")
	return len(b) > 0 && (b[0] == '{' || b[0] == '[')
}

// looksLikeForm reports whether a body of no declared type is a form. Equals signs at its
// end fill up base64, in which a plus is none of a form's spaces, and a hash of a password
// has its parameters between dollar signs.
func looksLikeForm(b []byte) bool {
	name := bytes.IndexByte(bytes.TrimRight(b, "="), '=')
	return name > 0 && bytes.LastIndexByte(b[:name], '$') <= 0 && !bytes.ContainsAny(b, " \n\t<{\"")
}
