package front

import (
	"encoding/base64"
	"net/http"
	"strings"
)

// credential finds the write key that came outside the body: Basic auth with
// the key as user name, a bearer token, or ?writeKey= for what can set no
// header. ok is false when an Authorization header is there and cannot be
// read, so that a mistake in it is refused and not passed over.
func credential(r *http.Request) (key string, ok bool) {
	if values := r.Header["Authorization"]; len(values) > 0 {
		scheme, rest, _ := strings.Cut(values[0], " ")
		rest = strings.TrimSpace(rest)
		switch {
		case len(values) > 1:
			return "", false
		case strings.EqualFold(scheme, "Basic"):
			return basic(rest)
		case strings.EqualFold(scheme, "Bearer"):
			return rest, plain(rest, maxKey)
		}
		return "", false
	}
	if r.URL.RawQuery == "" {
		return "", true
	}
	key = r.URL.Query().Get("writeKey")
	return key, key == "" || plain(key, maxKey)
}

// basic returns the user name. SDKs leave the password empty; what others put
// there says nothing here.
func basic(encoded string) (string, bool) {
	var buf [2 * maxKey]byte
	if base64.StdEncoding.DecodedLen(len(encoded)) > len(buf) {
		return "", false
	}
	n, err := base64.StdEncoding.Decode(buf[:], []byte(encoded))
	if err != nil {
		return "", false
	}
	key, _, colon := strings.Cut(string(buf[:n]), ":")
	return key, colon && plain(key, maxKey)
}
