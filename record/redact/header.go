package redact

import (
	"bytes"
	"regexp"
	"strings"

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
	case plain == "authorization", plain == "proxyauthorization", plain == "authenticationinfo", plain == "proxyauthenticationinfo":
		v = w.credentials(v)
	case plain == "wwwauthenticate", plain == "proxyauthenticate":
		v = w.challenges(v)
	case plain == "secwebsocketprotocol":
		v = w.subprotocols(v)
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

// challenges keeps what a server says of how to log in: schemes and their parameters, such
// as the realm. A parameter whose name is secret loses its value, and a token in the place
// of parameters, as of Negotiate, is replaced.
func (w *work) challenges(v []byte) []byte {
	out, quoted, begin := []byte(nil), false, 0
	for i := 0; i <= len(v); i++ {
		switch {
		case i < len(v) && v[i] == '\\' && quoted:
			i++
		case i < len(v) && v[i] == '"':
			quoted = !quoted
		case i >= len(v), v[i] == ',' && !quoted:
			end := min(i, len(v))
			out = w.challenge(out, v[begin:end])
			if begin = end + 1; end < len(v) {
				out = append(out, ',')
			}
		}
	}
	return out
}

// challenge appends what stands between two commas: a scheme, a parameter, or both.
func (w *work) challenge(out, item []byte) []byte {
	if m := parameter.FindSubmatchIndex(item); m != nil {
		name, from, to := item[m[2]:m[3]], max(m[4], m[6]), max(m[5], m[7])
		out = append(out, item[:from]...)
		if w.name = normal(w.name[:0], name); w.r.secretName(w.name, w.r.fields) {
			out = w.r.appendToken(out, item[from:to])
		} else {
			clean, _ := w.word(item[from:to])
			out = append(out, clean...)
		}
		return append(out, item[to:]...)
	}
	m := scheme.FindIndex(item)
	if m == nil {
		m = []int{0, 0}
	}
	out = append(out, item[:m[1]]...)
	if m[1] < len(item) {
		out = w.r.appendToken(out, item[m[1]:])
	}
	return out
}

// A challenge is a scheme with parameters or with a token, which has nothing behind an
// equals sign, or another one (RFC 9110, 11.2 and 11.3).
var (
	parameter = regexp.MustCompile(`^(?:[ \t]*[^ \t="]+[ \t]+)?[ \t]*([^ \t="]+)[ \t]*=[ \t]*(?:"((?:\\.|[^"\\])*)"|([^ \t="]+))[ \t]*$`)
	scheme    = regexp.MustCompile(`^[ \t]*(?:[A-Za-z][A-Za-z0-9-]{0,23}(?:[ \t]+|$))?`)
)

// subprotocols are the common ones of WebSocket (IANA's registry, and what is in
// use too). Clients that cannot set a header put their credential among
// them, so whatever is not known is replaced.
var subprotocols = set("graphql-ws", "graphql-transport-ws", "mqtt", "mqttv3.1", "stomp", "v10.stomp", "v11.stomp", "v12.stomp",
	"wamp", "wamp.2.json", "wamp.2.msgpack", "soap", "xmpp", "sip", "chat", "superchat", "json", "binary", "base64", "protobuf",
	"msgpack", "amqp", "ocpp1.6", "ocpp2.0", "ocpp2.0.1", "actioncable-v1-json", "v4.channel.k8s.io", "vite-hmr", "access_token", "bearer")

func (w *work) subprotocols(v []byte) []byte {
	var out []byte
	for i, part := range bytes.Split(v, []byte(",")) {
		if i > 0 {
			out = append(out, ',')
		}
		word := bytes.TrimSpace(part)
		out = append(out, part[:len(part)-len(bytes.TrimLeft(part, " \t"))]...)
		if subprotocols[strings.ToLower(string(word))] {
			out = append(out, word...)
		} else {
			out = w.r.appendToken(out, word)
		}
	}
	return out
}
