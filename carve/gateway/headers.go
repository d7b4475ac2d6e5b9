package gateway

import (
	"net/http"
	"net/netip"
	"strings"

	"whittle"
)

// hopByHop reports whether a field (named canonically) concerns one connection
// only and never goes further.
func hopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// connectionNames gives the fields that Connection declares hop by hop, in
// canonical form; nil for the everyday values that name none.
func connectionNames(h map[string][]string) []string {
	var names []string
	for _, v := range h["Connection"] {
		if v == "keep-alive" || v == "close" || v == "Keep-Alive" {
			continue
		}
		for name := range strings.SplitSeq(v, ",") {
			if name = strings.Trim(name, " \t"); name != "" {
				names = append(names, http.CanonicalHeaderKey(name))
			}
		}
	}
	return names
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// hasToken reports whether a comma-separated list has a token, in any case.
func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			part, _, _ = strings.Cut(part, ";")
			if strings.EqualFold(strings.Trim(part, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// outbound is a request's header as the upstream is to get it.
type outbound struct {
	r *http.Request
	// named are the fields that the client's Connection header listed.
	named []string
	// believed says that what the peer claims of its own client is kept.
	believed bool
	// address of the peer, without port and brackets.
	address string
	proto   string
	// mark is added to those by which a loop is found. Empty: nothing is.
	mark string
}

func (g *Gateway) outboundOf(r *http.Request) outbound {
	o := outbound{r: r, named: connectionNames(r.Header), address: r.RemoteAddr, proto: "http", mark: g.loopMark}
	if r.TLS != nil {
		o.proto = "https"
	}
	if i := strings.LastIndexByte(o.address, ':'); i >= 0 {
		o.address = strings.Trim(o.address[:i], "[]")
	}
	if len(g.opts.Trusted) > 0 {
		if ip, err := netip.ParseAddr(o.address); err == nil {
			o.believed = within(g.opts.Trusted, ip.Unmap().WithZone(""))
		}
	}
	return o
}

func within(nets []netip.Prefix, ip netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// outbound gives the header that the upstream gets, in a map of its own.
func (g *Gateway) outbound(r *http.Request) whittle.Header {
	o := g.outboundOf(r)
	h := make(whittle.Header, len(r.Header)+6)
	o.each(func(name, value string) { h[name] = append(h[name], value) })
	return h
}

// each yields every field but Host and the framing. The claims about the
// client and the loop mark come last, after anything a Connection header could
// have removed; marks of other gateways it cannot remove either.
func (o *outbound) each(yield func(name, value string)) {
	for name, values := range o.r.Header {
		if hopByHop(name) || name == "Content-Length" || claims(name) || o.named != nil && contains(o.named, name) && name != loopHeader {
			continue
		}
		for _, v := range values {
			yield(name, v)
		}
	}
	if te := o.r.Header["Te"]; te != nil && hasToken(te, "trailers") {
		yield("Te", "trailers")
	}
	o.eachClaim(yield)
	if o.mark != "" {
		yield(loopHeader, o.mark) // behind the earlier ones, which stay as they came
	}
}

// claims reports whether a field tells who the client was. Those that are not
// written anew are dropped when the peer is not believed.
func claims(name string) bool {
	switch name {
	case "Forwarded", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

func (o *outbound) eachClaim(yield func(name, value string)) {
	if !o.believed {
		yield("Forwarded", o.element())
		yield("X-Forwarded-For", o.address)
		yield("X-Forwarded-Host", o.r.Host)
		yield("X-Forwarded-Proto", o.proto)
		return
	}
	h := o.r.Header
	yield("Forwarded", listed(h["Forwarded"], o.element()))
	yield("X-Forwarded-For", listed(h["X-Forwarded-For"], o.address))
	for name, values := range h {
		if claims(name) && name != "Forwarded" && name != "X-Forwarded-For" {
			for _, v := range values {
				yield(name, v)
			}
		}
	}
	if h["X-Forwarded-Host"] == nil {
		yield("X-Forwarded-Host", o.r.Host)
	}
	if h["X-Forwarded-Proto"] == nil {
		yield("X-Forwarded-Proto", o.proto)
	}
}

func listed(earlier []string, last string) string {
	if len(earlier) == 0 {
		return last
	}
	return strings.Join(earlier, ", ") + ", " + last
}

// element is this hop's element of Forwarded (RFC 7239, section 4).
func (o *outbound) element() string {
	node := o.address
	if strings.IndexByte(node, ':') >= 0 {
		node = `"[` + node + `]"`
	}
	host := o.r.Host
	if !isToken(host) {
		if strings.ContainsAny(host, `"\`) {
			host = ""
		}
		host = `"` + host + `"`
	}
	return "for=" + node + ";host=" + host + ";proto=" + o.proto
}

// tokens has the bytes of a token (RFC 9110, section 5.6.2).
var tokens = func() (t [256]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' ||
			strings.IndexByte("!#$%&'*+-.^_`|~", byte(c)) >= 0 && c > 0
	}
	return t
}()

func isToken[T string | []byte](s T) bool {
	for i := range len(s) {
		if !tokens[s[i]] {
			return false
		}
	}
	return len(s) > 0
}

// isValue reports whether a field's value can be written without changing what
// follows it.
func isValue[T string | []byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// isTarget reports whether a request target stays one word on a request line.
func isTarget(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return s != ""
}
