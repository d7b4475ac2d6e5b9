package plan

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"whittle"

	"whittle/load/expr"
)

// ExpectsStatus reports whether an expectation is about the status.
func (r *Request) ExpectsStatus() bool {
	return slices.ContainsFunc(r.Expect, func(e Expectation) bool { return e.Status })
}

// HasHeader reports whether the request has a header of that name, in lower case.
func (r *Request) HasHeader(header string) bool {
	return slices.ContainsFunc(r.Headers, func(h HeaderField) bool { return h.Name == header })
}

// OriginLength is the length of scheme and host of an absolute URL; 0 for a
// relative one.
func OriginLength(text string) int {
	i := strings.Index(text, "://")
	if i < 0 || strings.ContainsAny(text[:i], "/?") {
		return 0
	}
	if j := strings.IndexAny(text[i+3:], "/?"); j >= 0 {
		return i + 3 + j
	}
	return len(text)
}

// Relative reports whether a request of the plan is sent to the target.
func (p *Plan) Relative() bool {
	return slices.ContainsFunc(p.Requests(), func(q *Request) bool { return q.Origin == "" && q.Address == nil })
}

// SendsLength reports whether content-length is sent: always with a body, and also
// without one for methods that usually have a body, which servers would wait for.
func (r *Request) SendsLength() bool {
	return r.HasBody || slices.Contains([]string{"POST", "PUT", "PATCH"}, r.Method)
}

// MergeHeaders adds the fields of b to those of a and replaces fields of the same
// name. Neither argument is changed.
func MergeHeaders(a, b []HeaderField) []HeaderField {
	out := slices.Clone(a)
	for _, h := range b {
		if i := slices.IndexFunc(out, func(o HeaderField) bool { return o.Name == h.Name }); i >= 0 {
			out[i] = h
		} else {
			out = append(out, h)
		}
	}
	return out
}

// WithQuery appends a query to a URL, which may have one already.
func WithQuery(t expr.Template, text string, query expr.Template) expr.Template {
	if len(query) == 0 {
		return t
	}
	sep := "?"
	if strings.Contains(text, "?") {
		sep = "&"
	}
	return t.Literal(sep).Join(query)
}

// Login is a name and a password for all URLs with a beginning.
type Login struct {
	URL, User, Password expr.Template
}

// Capture extracts a value from a response: into a variable, or to compare it with
// another (Artillery's match).
type Capture struct {
	Slot    int // of the variable; −1 for a match
	Extract expr.Extractor
	// Body says that it reads the response's body, not only its headers.
	Body bool
	// Want is what a match compares with.
	Want expr.Template
	// Typed says that Want is JSON, and that a value of another type is another.
	Typed bool
	// Strict: a response without the value is a failure.
	Strict bool
	// What says what it is, of a response without it.
	What string
}

// MaxConditions bounds the captures, matches and expectations of one request.
const MaxConditions = 100

// Expectation is one condition on a response; a failed one counts as an error
// of the kind "expectation".
type Expectation struct {
	// Statuses are those allowed or, with Negate, those refused; nil: any.
	Statuses []int
	Negate   bool
	// Status says that it is about the status, in Statuses or in Check.
	Status bool
	// Check is a condition of any other kind; nil: none.
	Check func(*expr.Response) bool
	// Body says that Check reads the response's body.
	Body bool
	// What says which it is, of a response that fails it.
	What string
}

// Holds reports whether a response meets it.
func (e *Expectation) Holds(a *expr.Response) bool {
	if e.Check != nil {
		return e.Check(a)
	}
	return slices.Contains(e.Statuses, a.Status) != e.Negate
}

// SplitLogin takes the name and the password out of a URL, and leaves all else as it is
// written. Nil: it has none.
func SplitLogin(address string) (string, *url.Userinfo) {
	scheme := strings.Index(address, "://")
	end := OriginLength(address)
	if scheme < 0 || end == 0 {
		return address, nil
	}
	at := strings.LastIndexByte(address[:end], '@')
	if at < 0 {
		return address, nil
	}
	u, err := url.Parse(address[:end])
	if err != nil || u.User == nil {
		return address, nil
	}
	return address[:scheme+len("://")] + address[at+1:], u.User
}

// BasicLogin is the header's value that sends a name and a password; empty: there are none.
func BasicLogin(user *url.Userinfo) string {
	if user == nil {
		return ""
	}
	password, _ := user.Password()
	return Basic(user.Username() + ":" + password)
}

// Basic is the header's value of a name and a password with a colon between them (RFC 7617).
func Basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

// ParseBase reads a base URL: scheme, server and perhaps a login and a path. Errors have
// the code whittle.Invalid, and do not show the password.
func ParseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
		shown := base[strings.LastIndexByte(base, '@')+1:] // without a login
		bad := whittle.Errorf(whittle.Invalid, "target %q is not of the form http://host[:port][/path]", shown)
		if !strings.Contains(base, "://") {
			bad = bad.WithHint("write its scheme too: http://" + shown)
		}
		return nil, bad
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, whittle.Errorf(whittle.Invalid, "target %q: %s is no port", u.Redacted(), port)
		}
	}
	return u, nil
}
