package replay

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"whittle"
	"whittle/record/redact"
)

// tokenMark is the prefix of every redaction token.
const tokenMark = "redacted-"

// lacksCredential reports whether a request carries only a redaction token
// where the monolith was sent a credential: in a header that the replay does
// not set, in the path, or in a value of a query, form or JSON whose name is a
// secret's. The response may depend on that credential.
func lacksCredential(q *whittle.Request, given whittle.Header) bool {
	path, query, _ := strings.Cut(q.Target, "?")
	return hasToken(q.Header, given) || strings.Contains(path, tokenMark) || inPairs(query) || inBody(q.Body)
}

// hasToken reports whether any header that may carry a credential, and is not given,
// contains a redaction token instead.
func hasToken(h, given whittle.Header) bool {
	for name, values := range h {
		if _, set := given[name]; !set && name != "Referer" && strings.Contains(strings.Join(values, " "), tokenMark) {
			return true
		}
	}
	return false
}

func inPairs(text string) bool {
	if !strings.Contains(text, tokenMark) {
		return false
	}
	values, _ := url.ParseQuery(text) // what cannot be read has no name
	for name, list := range values {
		if redact.SecretName(name) && strings.Contains(strings.Join(list, " "), tokenMark) {
			return true
		}
	}
	return false
}

// credentialBodyMost bounds the body that is searched for a token, in bytes.
const credentialBodyMost = 1 << 20

// inBody reads JSON and forms up to a bound. A token in a larger body counts as a
// credential.
func inBody(body []byte) bool {
	switch {
	case !bytes.Contains(body, []byte(tokenMark)):
		return false
	case len(body) > credentialBodyMost:
		return true
	}
	var v any
	if json.Unmarshal(body, &v) == nil {
		return inJSON("", v)
	}
	return inPairs(string(body))
}

func inJSON(name string, v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if inJSON(name, inner) {
				return true
			}
		}
	case []any:
		for _, inner := range v {
			if inJSON(name, inner) {
				return true
			}
		}
	case string:
		return strings.Contains(v, tokenMark) && redact.SecretName(name)
	}
	return false
}
