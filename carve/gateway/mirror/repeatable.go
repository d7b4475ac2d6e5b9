package mirror

import (
	"net/http"
	"strings"
	"sync/atomic"
)

// Repeatable says whether the monolith may be sent a route's requests a second time. A
// GET that takes a message from a queue or uses up a token is not safe, whatever its
// method says, and the user's next request would miss what the second one took.
type Repeatable struct {
	// score rises with each second response that is an error where the first was none,
	// and falls with each other one.
	score atomic.Int32
}

// Three such errors in a row, or more than one in five of many, are no accident.
const (
	spoiltStep = 4
	spoiltMost = 3 * spoiltStep
)

// OK reports whether a request may be sent again. Query is without its question mark.
func (r *Repeatable) OK(query string) bool { return r.score.Load() < spoiltMost && !OneTime(query) }

// See takes the status of the user's response and of the second one. It reports whether
// this has just ended the repeats of the route, until Forget.
func (r *Repeatable) See(first, second int) (ended bool) {
	for {
		old := r.score.Load()
		if old >= spoiltMost {
			return false
		}
		next := max(0, old-1)
		if first < 400 && second >= 400 {
			next = old + spoiltStep
		}
		if r.score.CompareAndSwap(old, next) {
			return next >= spoiltMost
		}
	}
}

// Forget begins anew.
func (r *Repeatable) Forget() { r.score.Store(0) }

// OneTime reports whether a query has what is good for one use: the code of an OAuth or
// OpenID callback, whose second use revokes the tokens that the first one got (RFC 6749,
// section 4.1.2), the ticket of CAS, a message of SAML, the verifier of OAuth 1. Query is without its question mark.
func OneTime(query string) bool {
	code, state := false, false
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "code":
			code = true
		case "state":
			state = true
		case "ticket":
			if strings.HasPrefix(value, "ST-") {
				return true
			}
		case "SAMLResponse", "SAMLRequest", "SAMLart", "oauth_verifier":
			return true
		}
	}
	return code && state
}

// Overrides reports whether a request asks to be read as one of another method, which
// frameworks heed, or do not: by a header, or by _method in its query.
func Overrides(r *http.Request) bool {
	for _, name := range [...]string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override"} {
		for _, v := range r.Header[name] {
			if v != "" && !strings.EqualFold(v, r.Method) {
				return true
			}
		}
	}
	for query := r.URL.RawQuery; strings.Contains(query, "_method="); {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if v, ok := strings.CutPrefix(pair, "_method="); ok && v != "" && !strings.EqualFold(v, r.Method) {
			return true
		}
	}
	return false
}
