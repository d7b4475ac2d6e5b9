// Package redact removes secrets from an exchange before it is stored or shown:
// credentials in headers and cookies, fields by name, by JSON path or by
// pattern, and card numbers, e-mail addresses and tokens wherever they stand. A
// secret is replaced by a token that is the same for the same secret under the
// same key, so that two responses can still be compared. The package is pure:
// bytes in, bytes out.
package redact

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"

	"whittle"
	"whittle/internal/coding"
	"whittle/internal/jsonpath"
)

// Bounds of what rules may ask for.
const (
	maxNames        = 1000
	maxPatterns     = 64
	maxPatternBytes = 1 << 10
	// KeyBytes is how long a key is at least.
	KeyBytes = 16
)

// The shapes that Rules.Keep can name, and the bodies that cannot be read.
const (
	ShapeEmail = "shape-email" // e-mail addresses
	ShapeCard  = "shape-card"  // card numbers: 13 to 19 digits with a valid check digit
	ShapeToken = "shape-token" // JWTs, Bearer and Basic credentials, users in URLs
	ShapeOther = "shape-other" // bodies that are neither text nor a known encoding of it
)

// Rules define secrets in addition to the defaults. The zero value is the
// defaults.
type Rules struct {
	// Headers, by name in any case, lose their value.
	Headers []string
	// Fields are names of JSON members, form fields, query parameters, cookies
	// and XML elements. Case and separators do not matter: "card_no" is also
	// cardNo and Card-No.
	Fields []string
	// Paths are JSON paths of values ($.user.phone, $..lat), in requests and
	// responses. With one, a body that seems to be JSON and is not is left out.
	Paths []string
	// Patterns are regular expressions (RE2). What the first group matches is
	// secret; without a group, the whole match. Each string of JSON, header's value,
	// target and other body is matched by itself; a target and a form as they stand
	// and decoded.
	Patterns []string
	// Keep lists names that are no secret after all, and shapes (ShapeEmail and
	// so on) that are let through. A path or a pattern is stronger.
	Keep []string
}

// Redactor removes secrets. It is immutable and safe for concurrent use.
type Redactor struct {
	rules                 Rules // as they were given
	headers, fields, kept map[string]bool
	paths                 []jsonpath.Path
	patterns              []*regexp.Regexp

	email, card, credential, other bool // redacted, or dropped

	macs sync.Pool // of hash.Hash, keyed
	work sync.Pool // of *work
}

// NewKey makes a key of random bytes.
func NewKey() []byte {
	k := make([]byte, 2*KeyBytes)
	_, _ = rand.Read(k) // it never fails
	return k
}

// New compiles rules. The key, of at least KeyBytes, decides the tokens: who
// has it can tell whether a guess is the secret behind one. Errors are
// *whittle.Error with code Invalid and a Field relative to the rules
// ("paths[2]"), joined where there are several.
func New(rules Rules, key []byte) (*Redactor, error) {
	if len(key) < KeyBytes {
		return nil, whittle.Errorf(whittle.Invalid, "a redaction key of %d bytes is too short: at least %d are needed", len(key), KeyBytes).
			WithField("key")
	}
	r := &Redactor{
		rules:   rules,
		headers: map[string]bool{}, fields: map[string]bool{}, kept: map[string]bool{},
		email: true, card: true, credential: true, other: true,
	}
	key = append([]byte(nil), key...)
	r.macs.New = func() any { return hmac.New(sha256.New, key) }
	r.work.New = func() any { return &work{r: r} }
	faults := r.names(&rules)
	for i, s := range rules.Paths {
		p, err := jsonpath.Parse(s)
		if err != nil {
			faults = append(faults, whittle.Errorf(whittle.Invalid, "%s", err).WithHint(jsonpath.Hint).WithField(at("paths", i)))
		}
		r.paths = append(r.paths, p)
	}
	if len(rules.Patterns) > maxPatterns || len(rules.Paths) > maxNames {
		return nil, whittle.Errorf(whittle.Invalid, "at most %d patterns and %d paths are taken", maxPatterns, maxNames).WithField("patterns")
	}
	for i, s := range rules.Patterns {
		p, err := compile(s)
		if err != nil {
			faults = append(faults, err.WithField(at("patterns", i)))
		}
		r.patterns = append(r.patterns, p)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return r, nil
}

func at(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func (r *Redactor) names(rules *Rules) (faults []error) {
	shapes := map[string]*bool{ShapeEmail: &r.email, ShapeCard: &r.card, ShapeToken: &r.credential, ShapeOther: &r.other}
	for _, list := range []struct {
		field string
		names []string
		into  map[string]bool
	}{{"headers", rules.Headers, r.headers}, {"fields", rules.Fields, r.fields}, {"keep", rules.Keep, r.kept}} {
		if len(list.names) > maxNames {
			return []error{whittle.Errorf(whittle.Invalid, "%d names are more than %d", len(list.names), maxNames).WithField(list.field)}
		}
		for i, name := range list.names {
			if list.field == "keep" && strings.HasPrefix(name, "shape-") {
				if shape := shapes[name]; shape != nil {
					*shape = false
				} else {
					faults = append(faults, whittle.Errorf(whittle.Invalid, "%q is no shape", name).WithField(at(list.field, i)).
						WithHint("write "+strings.Join([]string{ShapeEmail, ShapeCard, ShapeToken, ShapeOther}, ", ")+" or the name of a field"))
				}
				continue
			}
			plain := string(normal(nil, []byte(name)))
			if plain == "" {
				faults = append(faults, whittle.Errorf(whittle.Invalid, "%q is no name: it has no letter and no digit", name).WithField(at(list.field, i)))
			}
			list.into[plain] = true
		}
	}
	return faults
}

func compile(s string) (*regexp.Regexp, *whittle.Error) {
	if len(s) > maxPatternBytes {
		return nil, whittle.Errorf(whittle.Invalid, "a pattern of %d bytes is longer than %d", len(s), maxPatternBytes)
	}
	p, err := regexp.Compile(s)
	if err != nil {
		why := err.Error()
		if e, ok := err.(*syntax.Error); ok { //nolint:errorlint // regexp gives it bare
			why = e.Code.String() + ": " + e.Expr
		}
		return nil, whittle.Errorf(whittle.Invalid, "%q is no pattern: %s", s, why).
			WithHint("patterns are written as for grep -E, in RE2's form: no lookahead, no back reference")
	}
	if p.MatchString("") {
		return nil, whittle.Errorf(whittle.Invalid, "%q matches the empty text, so it would match everywhere", s).
			WithHint("ask for at least one character: + instead of *")
	}
	return p, nil
}

// mac gives the keyed hash of a secret.
func (r *Redactor) mac(secret []byte) (sum [sha256.Size]byte) {
	h := r.macs.Get().(hash.Hash)
	h.Reset()
	h.Write(secret)
	h.Sum(sum[:0])
	r.macs.Put(h)
	return sum
}

// Text redacts a text of unknown kind, such as a sample or an error. The result
// may share b's memory; b itself is unchanged.
func (r *Redactor) Text(b []byte) []byte {
	w := r.begin()
	defer r.end(w)
	out, _ := w.inner(b, 0)
	return out
}

// Value redacts one JSON value, or a piece of one, at a place in a document.
func (r *Redactor) Value(place []jsonpath.Element, v []byte) []byte {
	w := r.begin()
	defer r.end(w)
	secret := jsonpath.AnyCovers(r.paths, place)
	for i := range place {
		secret = secret || w.secretPath(place[i].Key)
	}
	j := rewriter{copied: copied{src: v}, w: w, trail: append([]jsonpath.Element(nil), place...)}
	end, err := j.each(secret)
	switch {
	case err == nil:
		out, _ := j.done()
		return out
	case secret:
		return r.appendToken(nil, v)
	case len(r.paths) > 0 && looksLikeJSON(v):
		return j.begun(end)
	}
	out, _ := w.inner(v, 0)
	return out
}

func (r *Redactor) begin() *work { return r.work.Get().(*work) }
func (r *Redactor) end(w *work)  { r.work.Put(w) }

// work is the scratch memory of one call.
type work struct {
	r    *Redactor
	name []byte
	// looked counts the bytes that were read ahead or back, in addition to the
	// pass over each text. A test shows that hostile texts do not make it
	// large.
	looked int
	// seen caches the verdict on short names, by their hash.
	seen [256]struct {
		name   [30]byte
		n      uint8
		secret bool
	}
}

// Request takes the secrets out of a request. What q points to is replaced, not
// changed: others may hold it too. A body that cannot be redacted is left out,
// and Truncated set.
func (r *Redactor) Request(q *whittle.Request) {
	w := r.begin()
	defer r.end(w)
	if out, changed := w.target([]byte(q.Target)); changed {
		q.Target = string(out)
	}
	q.Header = w.header(q.Header)
	q.Body, q.Truncated, _ = w.body(q.Header, q.Body, q.Truncated, nil)
}

// Response takes the secrets out of a response, as Request does out of a request.
// Why a body was left out is put into Detail.
func (r *Redactor) Response(a *whittle.Response) {
	w := r.begin()
	defer r.end(w)
	a.Header, a.Trailer = w.header(a.Header), w.header(a.Trailer)
	if out, changed := w.inner([]byte(a.Detail), 0); changed {
		a.Detail = string(out)
	}
	var left string
	if a.Body, a.Truncated, left = w.body(a.Header, a.Body, a.Truncated, a.Trailer); left != "" && a.Detail == "" {
		a.Detail = "the body was left out: " + left
	}
}

// body redacts a body and makes the header h, and the trailer if there is one, which are
// redacted already, describe the body that is left.
func (w *work) body(h whittle.Header, b []byte, truncated bool, trailer whittle.Header) (_ []byte, cut bool, left string) {
	if len(b) == 0 {
		return b, truncated, ""
	}
	had := h["Content-Length"] != nil
	if truncated {
		forget(h, trailer)
		return nil, true, leftCut
	}
	out, plain, changed, left := w.content(h, b)
	if left != "" || !bytes.Equal(out, plain) {
		// A tag may be a digest of the body, by which a short secret in it could be guessed.
		delete(h, "Etag")
		delete(trailer, "Etag")
	}
	switch {
	case left != "":
		forget(h, trailer)
		return nil, true, left
	case !changed:
		return out, false, ""
	}
	if !coding.Plain(h) {
		delete(h, "Content-Encoding")
	}
	forget(h, trailer)
	if had {
		h["Content-Length"] = []string{strconv.Itoa(len(out))}
	}
	return out, false, ""
}

// digests are the headers that have a body's, but for Amazon's x-amz-checksum-*.
var digests = []string{
	"Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "X-Amz-Content-Sha256", "X-Ms-Content-Sha256", "X-Goog-Hash",
}

// forget drops what header and trailer say of a body that is not there any more. A
// digest would also let a short secret be guessed.
func forget(h, trailer whittle.Header) {
	for _, of := range []whittle.Header{h, trailer} {
		maps.DeleteFunc(of, func(name string, _ []string) bool {
			return name == "Content-Length" || slices.Contains(digests, name) || strings.HasPrefix(name, "X-Amz-Checksum-")
		})
	}
}
