package inbound

import (
	"net/http"
	"net/netip"
	"strings"

	"whittle/carve/gateway/listener"
)

// peerOf is the peer's address without its port, which changes with every
// connection.
func peerOf(r *http.Request) string {
	if i := strings.LastIndexByte(r.RemoteAddr, ':'); i >= 0 {
		return r.RemoteAddr[:i]
	}
	return r.RemoteAddr
}

// Client is the client's address, in the form of Peer. It is the peer's or, if the peer
// is trusted, the last address in X-Forwarded-For (else in Forwarded) that is not
// trusted itself. Addresses to the left of that one are ignored, because anybody may
// have written them.
func (q *Request) Client() string {
	if !q.Trusted {
		return q.Peer
	}
	client, known := "", false
	eachHop(q.Header, func(hop string) bool {
		ip, ok := parseHop(hop)
		if !ok { // "unknown", or no address at all: whoever passed it on is the nearest
			return false
		}
		client, known = ip.String(), true
		if ip.Is6() {
			client = "[" + client + "]"
		}
		return listener.Within(q.reader.Trusted, ip)
	})
	if !known {
		return q.Peer
	}
	return client
}

// eachHop yields what proxies wrote of their clients, the nearest one first,
// until yield returns false.
func eachHop(h http.Header, yield func(hop string) bool) {
	lines, element := h["X-Forwarded-For"], false
	if lines == nil {
		lines, element = h["Forwarded"], true
	}
	for i := len(lines) - 1; i >= 0; i-- {
		rest, more := lines[i], true
		for more {
			var hop string
			rest, hop, more = lastMember(rest, ',')
			if element {
				hop = forOf(hop)
			}
			if !yield(strings.Trim(hop, " \t")) {
				return
			}
		}
	}
}

// lastMember cuts a list at its last separator outside of quotes. It reads from the
// right, because only the right end was written by a trusted proxy.
func lastMember(list string, separator byte) (before, last string, more bool) {
	quoted := false
	for i := len(list) - 1; i >= 0; i-- {
		switch {
		case list[i] == '"' && !isEscaped(list, i):
			quoted = !quoted
		case list[i] == separator && !quoted:
			return list[:i], list[i+1:], true
		}
	}
	return "", list, false
}

// isEscaped reports whether an odd number of backslashes is in front of a byte.
func isEscaped(s string, at int) bool {
	n := 0
	for at > n && s[at-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// forOf gives the node of a Forwarded element (RFC 7239, section 4), "" where it
// names none.
func forOf(element string) string {
	for more := true; more; {
		var pair string
		element, pair, more = lastMember(element, ';')
		name, value, _ := strings.Cut(strings.Trim(pair, " \t"), "=")
		if strings.EqualFold(name, "for") {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// parseHop reads an address as proxies write it: 192.0.2.1, 192.0.2.1:80,
// 2001:db8::1, [2001:db8::1], [2001:db8::1]:80.
func parseHop(s string) (netip.Addr, bool) {
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	if err != nil {
		at, err := netip.ParseAddrPort(s)
		if err != nil {
			return netip.Addr{}, false
		}
		ip = at.Addr()
	}
	return ip.Unmap().WithZone(""), true
}
