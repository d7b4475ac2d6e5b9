package har

import (
	"cmp"
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"strings"

	"whittle/internal/http1"

	"whittle"
)

// address takes a URL apart: what was asked of whom. Without a port, port is
// the scheme's.
func address(raw string) (target, host, port string, err error) {
	scheme, rest, ok := strings.Cut(raw, ":")
	scheme = strings.ToLower(scheme)
	switch {
	case !ok:
		return "", "", "", fmt.Errorf("%q is no URL", cut(text(raw)))
	case scheme == "ws", scheme == "wss":
		return "", "", "", errors.New("a WebSocket is no exchange")
	case scheme != "http" && scheme != "https":
		return "", "", "", fmt.Errorf("the scheme %s: is no request to a server", cut(text(scheme)))
	}
	rest, ok = strings.CutPrefix(rest, "//")
	if !ok {
		return "", "", "", fmt.Errorf("%q has no host", cut(text(raw)))
	}
	rest, _, _ = strings.Cut(rest, "#")
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	host, target = rest[:end], escaped(rest[end:])
	// What stands before the @ is a password.
	host = host[strings.LastIndexByte(host, '@')+1:]
	if host == "" {
		return "", "", "", fmt.Errorf("%q has no host", cut(text(raw)))
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	port = (&url.URL{Host: host}).Port()
	port = cmp.Or(port, map[string]string{"http": "80", "https": "443"}[scheme])
	return target, host, port, nil
}

// escaped is a target without bytes that no request line may have.
func escaped(target string) string {
	var out []byte
	for _, c := range []byte(target) {
		if c <= ' ' || c >= 0x7f {
			out = fmt.Appendf(out, "%%%02X", c)
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// authority is whom the request named itself, by Host or HTTP/2's :authority.
func authority(list []pair) string {
	for _, p := range list {
		if name := strings.ToLower(string(p.Name)); name == "host" || name == ":authority" {
			return string(p.Value)
		}
	}
	return ""
}

// header collects fields but for the host, which stands apart from the header, as
// in net/http. HTTP/2's pseudo-fields are none; browsers write
// several values of one field, Set-Cookie above all, as lines of one.
func header(list []pair) whittle.Header {
	var h whittle.Header
	for _, p := range list {
		if !http1.IsToken(string(p.Name)) || strings.EqualFold(string(p.Name), "host") {
			continue
		}
		if h == nil {
			h = make(whittle.Header, len(list))
		}
		name := textproto.CanonicalMIMEHeaderKey(string(p.Name))
		for line := range strings.SplitSeq(string(p.Value), "\n") {
			h[name] = append(h[name], strings.Trim(line, " \t\r"))
		}
	}
	return h
}
