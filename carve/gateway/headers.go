package gateway

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"whittle"
	"whittle/internal/httpfield"
)

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
	o := outbound{r: r, named: httpfield.ConnectionNames(r.Header), address: r.RemoteAddr, proto: "http", mark: g.loopMark}
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
		if httpfield.HopByHop(name) || name == "Content-Length" || claims(name) || o.named != nil && slices.Contains(o.named, name) && name != loopHeader {
			continue
		}
		for _, v := range values {
			yield(name, v)
		}
	}
	if te := o.r.Header["Te"]; te != nil && httpfield.HasToken(te, "trailers") {
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
	if !httpfield.IsToken(host) {
		if strings.ContainsAny(host, `"\`) {
			host = ""
		}
		host = `"` + host + `"`
	}
	return "for=" + node + ";host=" + host + ";proto=" + o.proto
}
