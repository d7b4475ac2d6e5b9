package redact

import (
	"bytes"

	"whittle"
)

// header gives a header of its own with the secrets taken out; nil for nil.
func (w *work) header(h whittle.Header) whittle.Header {
	if h == nil {
		return nil
	}
	out := make(whittle.Header, len(h))
	for name, values := range h {
		clean := make([]string, len(values))
		for i, v := range values {
			clean[i] = w.field(name, v)
		}
		out[name] = clean
	}
	return out
}

// field takes the secrets out of one value of a header.
func (w *work) field(name, value string) string {
	if value == "" {
		return value
	}
	w.name = normal(w.name[:0], []byte(name))
	plain := string(w.name)
	if plain == "contenttype" && (w.r.kept[plain] || !w.r.headers[plain]) {
		return value // a boundary must stay what it is
	}
	v := []byte(value)
	changed := true
	switch {
	case w.r.kept[plain]:
		v, changed = w.patterns(v)
	case w.r.headers[plain]:
		v = w.r.appendToken(nil, v)
	case plain == "cookie":
		v = w.cookies(v)
	case plain == "setcookie", plain == "setcookie2":
		v = w.setCookie(v)
	case credentials[plain]:
		v = w.credentials(v)
	case w.r.secretName(w.name, w.r.fields), isExtension(name) && w.r.secretName(w.name[1:], w.r.fields):
		v = w.r.appendToken(nil, v)
	case isAddress(plain):
		v, changed = w.target(v)
	default:
		v, changed = w.word(v)
	}
	if !changed {
		return value
	}
	return string(v)
}

// credentials are the headers that have one behind its scheme, or may: a challenge of Negotiate
// has a token, and clients of WebSocket that can set no header have theirs among the protocols.
var credentials = set("authorization", "proxyauthorization", "authenticationinfo", "proxyauthenticationinfo",
	"wwwauthenticate", "proxyauthenticate", "secwebsocketprotocol")

// isExtension reports whether a header's name begins with "X-", which says
// nothing: X-Session is a session.
func isExtension(name string) bool { return len(name) > 2 && name[0]|0x20 == 'x' && name[1] == '-' }

// isAddress reports whether a header's value is a URL or a request target.
func isAddress(plain string) bool {
	switch plain {
	case "referer", "location", "contentlocation", "origin", "destination", "sourcemap", "xsourcemap",
		"xoriginalurl", "xrewriteurl", "xoriginaluri", "xforwardeduri", "xforwardedprefix", "hxcurrenturl", "hxredirect", "hxlocation", "hxpushurl", "pingfrom", "pingto":
		return true
	}
	return false
}

// cookies replaces the value of each cookie; names stay.
func (w *work) cookies(v []byte) []byte {
	var out []byte
	for i, part := range bytes.Split(v, []byte(";")) {
		if i > 0 {
			out = append(out, ';')
		}
		out = w.cookie(out, part)
	}
	return out
}

// cookie appends one name=value with its value replaced.
func (w *work) cookie(out, part []byte) []byte {
	name, value, ok := bytes.Cut(part, []byte("="))
	trimmed := bytes.TrimSpace(name)
	if !ok {
		lead := len(part) - len(bytes.TrimLeft(part, " \t"))
		return w.r.appendToken(append(out, part[:lead]...), bytes.TrimSpace(part))
	}
	if w.r.kept[string(normal(nil, trimmed))] {
		clean, _ := w.patterns(part)
		return append(out, clean...)
	}
	out = append(append(out, name...), '=')
	return w.r.appendToken(out, bytes.Trim(value, " \t\""))
}

// setCookie replaces a cookie's value; its attributes stay.
func (w *work) setCookie(v []byte) []byte {
	first, rest, more := bytes.Cut(v, []byte(";"))
	out := w.cookie(nil, first)
	if more {
		attributes, _ := w.word(rest)
		out = append(append(out, ';'), attributes...)
	}
	return out
}

// credentials replaces all but the scheme.
func (w *work) credentials(v []byte) []byte {
	n := schemeLen(v)
	return w.r.appendToken(append([]byte(nil), v[:n]...), v[n:])
}
