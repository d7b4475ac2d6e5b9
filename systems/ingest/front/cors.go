package front

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"whittle"
)

// cors responds to browsers that ask whether a page may see the response. Events are
// taken from any page that has a write key: this is about reading responses and
// sending the headers that make a preflight.
//
// Browsers send a beacon with credentials, and one of JSON after a preflight
// that has to allow them and to name the origin, for which "*" does not stand.
// There is nothing here that a credential of the browser's would open.
type cors struct {
	any     bool
	origins map[string]bool
}

func newCORS(origins []string) (cors, error) {
	if len(origins) == 0 || slices.Contains(origins, "*") {
		return cors{any: true}, nil
	}
	c := cors{origins: map[string]bool{}}
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host {
			return cors{}, whittle.Errorf(whittle.Invalid, "%q is no web origin", o).
				WithHint("an origin is scheme and host, and a port where it is not the scheme's: https://example.com")
		}
		c.origins[o] = true
	}
	return c, nil
}

var (
	yes    = []string{"true"}
	varyOn = []string{"Origin"}
	// of a preflight
	varyOnHeaders = []string{"Origin, Access-Control-Request-Headers"}
	exposed       = []string{"Retry-After, X-Request-Id"}
	methods       = []string{"POST"}
	headers       = []string{"Authorization, Content-Type, Content-Encoding, Idempotency-Key, X-Request-Id"}
	aDay          = []string{"86400"}
)

// mark adds what lets the page behind the request read the response.
func (c cors) mark(h, request http.Header) {
	origin := request["Origin"]
	if !c.any || len(origin) > 0 {
		h["Vary"] = varyOn
	}
	if len(origin) == 0 || !c.any && !c.origins[origin[0]] {
		return
	}
	h["Access-Control-Allow-Origin"] = origin[:1]
	h["Access-Control-Allow-Credentials"] = yes
	h["Access-Control-Expose-Headers"] = exposed
}

// preflight responds to OPTIONS. Where mark named no origin the browser sees that
// it may not.
func (c cors) preflight(h, request http.Header) {
	h["Allow"] = allowed
	if _, ok := h["Access-Control-Allow-Origin"]; !ok || request.Get("Access-Control-Request-Method") == "" {
		return
	}
	h["Access-Control-Allow-Methods"] = methods
	h["Access-Control-Allow-Headers"] = headers
	// SDKs send headers of their own (AnonymousId). None of them opens anything.
	if asked := request["Access-Control-Request-Headers"]; len(asked) == 1 && isTokenList(asked[0]) {
		h["Access-Control-Allow-Headers"] = asked
		h["Vary"] = varyOnHeaders
	}
	h["Access-Control-Max-Age"] = aDay
}

// maxRequestHeaders bounds the list of headers that a preflight is given back.
const maxRequestHeaders = 1 << 10

// isTokenList reports whether text is a list of header names.
func isTokenList(text string) bool {
	if len(text) > maxRequestHeaders {
		return false
	}
	for name := range strings.SplitSeq(text, ",") {
		if !httpguts.ValidHeaderFieldName(strings.Trim(name, " \t")) {
			return false
		}
	}
	return true
}
