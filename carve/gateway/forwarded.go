package gateway

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
)

// clientOf is the address of the client that a request was made by, in the form
// of addressOf: the peer's, or, where the peer is trusted, the last one in
// X-Forwarded-For (else in Forwarded) that is not trusted itself. What stands to
// the left of that one anybody may have written, and it is not looked at.
func clientOf(r *http.Request, trusted []netip.Prefix) string {
	peer := addressOf(r)
	if len(trusted) == 0 {
		return peer
	}
	ip, ok := parseHop(peer)
	if !ok || !within(trusted, ip) {
		return peer
	}
	client, known := "", false
	eachHop(r.Header, func(hop string) bool {
		ip, ok := parseHop(hop)
		if !ok { // "unknown", or no address at all: whoever passed it on is the nearest
			return false
		}
		client, known = ip.String(), true
		if ip.Is6() {
			client = "[" + client + "]"
		}
		return within(trusted, ip)
	})
	if !known {
		return peer
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

// lastMember cuts a list at its last separator outside of quotes. It reads from
// the right, since only what stands there was written by somebody trusted.
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

// manyForwarded is how many requests with another's word on who the client is
// make one address that is not trusted a proxy.
const manyForwarded = 100

// proxyWatch finds out that users come through a proxy which nobody named. It
// follows the address that most such requests come from (Boyer and Moore's
// majority vote), so it holds one address however many there are. The zero
// value is ready.
type proxyWatch struct {
	warned atomic.Bool

	mu sync.Mutex // guards the following
	// peer is followed; claim is the first that it said of a client, and several
	// that it has said another thing of another.
	peer, claim string
	count       int
	several     bool
}

// see takes a request that was forwarded by peer, and reports once that peer is
// a proxy.
func (w *proxyWatch) see(peer, claim string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if peer != w.peer {
		if w.count--; w.count <= 0 {
			w.peer, w.claim, w.count, w.several = peer, claim, 1, false
		}
		return false
	}
	w.several = w.several || claim != w.claim
	w.count = min(w.count+1, manyForwarded)
	return w.count == manyForwarded && w.several && w.warned.CompareAndSwap(false, true)
}

// warnProxy logs once, for the operator, a proxy that is not trusted, where users
// are distinguished by their address: all of that proxy's are one.
func (g *Gateway) warnProxy(r *http.Request, route string) {
	if g.proxies.warned.Load() {
		return
	}
	claims := r.Header["X-Forwarded-For"]
	if claims == nil {
		claims = r.Header["Forwarded"]
	}
	if claims == nil {
		return
	}
	peer := addressOf(r)
	if ip, ok := parseHop(peer); ok && within(g.opts.Trusted, ip) {
		return
	}
	if g.proxies.see(peer, claims[0]) {
		g.log.Warn("users are told apart by their address, and many come from one that forwards for others: they all count as one user; if it is your proxy, name it under forwarded.trust, or let sticky_by name a header or a cookie",
			slog.String("route", route), slog.String("peer", peer))
	}
}
