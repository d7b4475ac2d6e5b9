package inbound

import (
	"net/netip"
	"slices"
	"strings"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// Outbound gives the header that an upstream gets, in a map of its own.
func (q *Request) Outbound() whittle.Header {
	h := make(whittle.Header, len(q.Header)+6)
	q.EachOutbound(func(name, value string) { h[name] = append(h[name], value) })
	return h
}

func within(nets []netip.Prefix, ip netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// EachOutbound yields, for an upstream, every field but Host and the framing. The claims about the
// client and the loop mark come last, after anything a Connection header could
// have removed; marks of other gateways it cannot remove either.
func (q *Request) EachOutbound(yield func(name, value string)) {
	for name, values := range q.Header {
		if httpfield.HopByHop(name) || name == "Content-Length" || claims(name) || q.Named != nil && slices.Contains(q.Named, name) && name != LoopHeader {
			continue
		}
		for _, v := range values {
			yield(name, v)
		}
	}
	if te := q.Header["Te"]; te != nil && httpfield.HasToken(te, "trailers") {
		yield("Te", "trailers")
	}
	q.eachClaim(yield)
	if q.door.Mark != "" {
		yield(LoopHeader, q.door.Mark) // behind the earlier ones, which stay as they came
	}
}

// claims reports whether a field says who the client was. If the peer is not trusted,
// such fields are dropped, except those that this hop writes anew.
func claims(name string) bool {
	switch name {
	case "Forwarded", "X-Real-Ip":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

func (q *Request) eachClaim(yield func(name, value string)) {
	if !q.Trusted {
		yield("Forwarded", q.element())
		yield("X-Forwarded-For", q.address())
		yield("X-Forwarded-Host", q.Host)
		yield("X-Forwarded-Proto", q.proto())
		return
	}
	h := q.Header
	yield("Forwarded", listed(h["Forwarded"], q.element()))
	yield("X-Forwarded-For", listed(h["X-Forwarded-For"], q.address()))
	for name, values := range h {
		if claims(name) && name != "Forwarded" && name != "X-Forwarded-For" {
			for _, v := range values {
				yield(name, v)
			}
		}
	}
	if h["X-Forwarded-Host"] == nil {
		yield("X-Forwarded-Host", q.Host)
	}
	if h["X-Forwarded-Proto"] == nil {
		yield("X-Forwarded-Proto", q.proto())
	}
}

func listed(earlier []string, last string) string {
	if len(earlier) == 0 {
		return last
	}
	return strings.Join(earlier, ", ") + ", " + last
}

// element is this hop's element of Forwarded (RFC 7239, section 4).
func (q *Request) element() string {
	node := q.address()
	if strings.IndexByte(node, ':') >= 0 {
		node = `"[` + node + `]"`
	}
	host := q.Host
	if !http1.IsToken(host) {
		if strings.ContainsAny(host, `"\`) {
			host = ""
		}
		host = `"` + host + `"`
	}
	return "for=" + node + ";host=" + host + ";proto=" + q.proto()
}

// address of the peer without brackets.
func (f *Facts) address() string { return strings.Trim(f.Peer, "[]") }

func (f *Facts) proto() string {
	if f.HTTPS {
		return "https"
	}
	return "http"
}
