package replay

import (
	"encoding/json"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"

	"whittle"
	"whittle/internal/jsonpath"
	"whittle/record/capture"
)

// Key selects the requests whose order is kept among themselves. The zero value
// keeps the order within each connection.
type Key struct {
	by   keyKind
	name string
	path jsonpath.Path
}

type keyKind uint8

const (
	byConnection keyKind = iota
	byHeader
	byCookie
	byPath
	byBody
	byNothing
)

// ParseKey reads "connection", "header:NAME", "cookie:NAME", "path",
// "body:$.PATH" or "none".
func ParseKey(s string) (Key, error) {
	kind, name, _ := strings.Cut(s, ":")
	k := Key{name: name}
	switch {
	case s == "" || s == "connection":
		return Key{}, nil
	case s == "none":
		k.by = byNothing
	case s == "path":
		k.by = byPath
	case kind == "header" && name != "":
		k.by, k.name = byHeader, textproto.CanonicalMIMEHeaderKey(name)
	case kind == "cookie" && name != "":
		k.by = byCookie
	case kind == "body" && name != "":
		path, err := jsonpath.Parse(name)
		if err != nil {
			return Key{}, whittle.Errorf(whittle.Invalid, "read key %q: %w", s, err).WithHint(jsonpath.Hint)
		}
		k.by, k.path = byBody, path
	default:
		return Key{}, whittle.Errorf(whittle.Invalid, "%q is not a key", s).
			WithHint("write connection, header:NAME, cookie:NAME, path, body:$.PATH or none")
	}
	return k, nil
}

// keyBodyMost bounds the body that is searched for the key, in bytes.
const keyBodyMost = 1 << 20

// queue names the queue that keeps e in order; it is empty where e may be sent
// at any time.
func (k Key) queue(e *capture.Entry) string {
	switch k.by {
	case byConnection:
		if e.Conn == 0 {
			return ""
		}
		return strconv.FormatUint(e.Conn, 16)
	case byHeader:
		return e.Request.Header.Get(k.name)
	case byCookie:
		for _, line := range e.Request.Header["Cookie"] {
			cookies, _ := http.ParseCookie(line) // what is none has no key
			for _, c := range cookies {
				if c.Name == k.name {
					return c.Value
				}
			}
		}
	case byPath:
		path, _, _ := strings.Cut(e.Request.Target, "?")
		return path
	case byBody:
		var v any
		if len(e.Request.Body) > keyBodyMost || json.Unmarshal(e.Request.Body, &v) != nil {
			return ""
		}
		text, _ := k.find(v, nil)
		return text
	}
	return ""
}

// find returns the first value on the path, as JSON.
func (k Key) find(v any, trail []jsonpath.Element) (string, bool) {
	if k.path.Matches(trail) {
		b, err := json.Marshal(v)
		return string(b), err == nil
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range sortedNames(v) {
			if text, ok := k.find(v[name], append(trail, jsonpath.Element{Key: []byte(name)})); ok {
				return text, true
			}
		}
	case []any:
		for i := range v {
			if text, ok := k.find(v[i], append(trail, jsonpath.Element{Index: i})); ok {
				return text, true
			}
		}
	}
	return "", false
}
