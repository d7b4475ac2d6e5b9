package inbound

import (
	"bytes"
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
	if q.reader.Mark != "" {
		yield(LoopHeader, q.reader.Mark) // behind the earlier ones, which stay as they came
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

// trails reports whether a field of a request may come behind its body. What says who
// the client is, or how the request is to be read, routed or answered, may not: servers
// that take such fields for those of the header would believe them (RFC 9110, section
// 6.5.1).
func (d *Reader) trails(name string) bool {
	switch name {
	case "Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Host", "Expect", "Range",
		"Authorization", "Cookie", LoopHeader:
		return false
	}
	return !httpfield.HopByHop(name) && !claims(name) && (d.KeepUnderscores || strings.IndexByte(name, '_') < 0)
}

func (q *Request) eachClaim(yield func(name, value string)) {
	if !q.Trusted {
		yield("Forwarded", q.element())
		yield("X-Forwarded-For", q.address())
		if q.Host != "" {
			yield("X-Forwarded-Host", q.Host)
		}
		yield("X-Forwarded-Proto", q.proto())
		if q.Origin.Certificate != "" {
			yield(clientCertificate, q.Origin.Certificate)
		}
		return
	}
	q.eachTrustedClaim(yield)
}

// eachTrustedClaim passes on what a trusted proxy says, with this hop behind it. Where the
// proxy says it in one way alone, Forwarded or X-Forwarded-*, so does this hop: the other
// way would know of this hop only, and many frameworks believe Forwarded first.
func (q *Request) eachTrustedClaim(yield func(name, value string)) {
	h := q.Header
	standard := h["Forwarded"] != nil
	common := h["X-Forwarded-For"] != nil || h["X-Forwarded-Host"] != nil || h["X-Forwarded-Proto"] != nil
	if standard || !common {
		yield("Forwarded", listed(h["Forwarded"], q.element()))
	}
	for name, values := range h {
		if claims(name) && name != "Forwarded" && name != "X-Forwarded-For" && (name != clientCertificate || q.Origin.Certificate == "") {
			for _, v := range values {
				yield(name, v)
			}
		}
	}
	if q.Origin.Certificate != "" {
		yield(clientCertificate, listedBy(h[clientCertificate], ",", q.Origin.Certificate))
	}
	if standard && !common {
		return
	}
	yield("X-Forwarded-For", listed(h["X-Forwarded-For"], q.address()))
	if h["X-Forwarded-Host"] == nil && q.Host != "" {
		yield("X-Forwarded-Host", q.Host)
	}
	if h["X-Forwarded-Proto"] == nil {
		yield("X-Forwarded-Proto", q.proto())
	}
}

// clientCertificate is the field that says whose certificate the client has shown.
const clientCertificate = "X-Forwarded-Client-Cert"

func listed(earlier []string, last string) string { return listedBy(earlier, ", ", last) }

// listedBy puts the last element behind the earlier ones. An empty line has none.
func listedBy(earlier []string, comma, last string) string {
	var b strings.Builder
	for _, line := range earlier {
		if strings.Trim(line, " \t") != "" {
			b.WriteString(line)
			b.WriteString(comma)
		}
	}
	return b.String() + last
}

// AppendRaw writes what EachOutbound yields for a request in bytes: every field but
// Host, each a line, as it came. False: the request has to be looked at by name.
func (d *Reader) AppendRaw(b []byte, h *http1.RequestHead, peer string, https bool) (out []byte, ok bool) {
	if len(d.Trusted) > 0 {
		return b, false
	}
	for i := range h.Len() {
		f := h.Field(i)
		switch {
		case is(f.Name, "cdn-loop"):
			if bytes.Contains(f.Value, []byte(d.Mark)) || h.HopByHop(i) {
				return b, false
			}
		case is(f.Name, "te"):
			return b, false
		case d.RequestID != "" && is(f.Name, d.RequestID),
			is(f.Name, "host"), is(f.Name, "content-length"), is(f.Name, "forwarded"), is(f.Name, "x-real-ip"),
			len(f.Name) > len("x-forwarded-") && is(f.Name[:len("x-forwarded-")], "x-forwarded-"),
			!d.KeepUnderscores && bytes.IndexByte(f.Name, '_') >= 0, h.HopByHop(i):
			continue
		}
		b = append(b, f.Name...)
		b = append(b, ": "...)
		b = append(b, f.Value...)
		b = append(b, "\r\n"...)
	}
	if n := h.ContentLength(); n >= 0 {
		b = http1.AppendContentLength(b, n)
	}
	proto := "http"
	if https {
		proto = "https"
	}
	b = append(b, "Forwarded: "...)
	b = appendElement(b, strings.Trim(peer, "[]"), h.Host(), proto)
	b = append(b, "\r\nX-Forwarded-For: "...)
	b = append(b, strings.Trim(peer, "[]")...)
	if len(h.Host()) > 0 {
		b = append(b, "\r\nX-Forwarded-Host: "...)
		b = append(b, h.Host()...)
	}
	b = append(b, "\r\nX-Forwarded-Proto: "...)
	b = append(b, proto...)
	b = append(b, "\r\n"+LoopHeader+": "...)
	b = append(b, d.Mark...)
	return append(b, "\r\n"...), true
}

// is reports whether a field's name is one that is given in lower case.
func is(name []byte, lower string) bool {
	return len(name) == len(lower) && (name[0]|0x20 == lower[0]) && strings.EqualFold(string(name), lower)
}

// appendElement writes a hop's element of Forwarded (RFC 7239, section 4).
func appendElement[H string | []byte](b []byte, node string, host H, proto string) []byte {
	b = append(b, "for="...)
	if strings.IndexByte(node, ':') >= 0 {
		b = append(b, '"', '[')
		b = append(b, node...)
		b = append(b, ']', '"')
	} else {
		b = append(b, node...)
	}
	switch {
	case len(host) == 0:
	case http1.IsToken(host):
		b = append(b, ";host="...)
		b = append(b, host...)
	default:
		b = append(b, `;host="`...)
		if !strings.ContainsAny(string(host), `"\`) {
			b = append(b, host...)
		}
		b = append(b, '"')
	}
	b = append(b, ";proto="...)
	return append(b, proto...)
}

// element is this hop's element of Forwarded (RFC 7239, section 4).
func (q *Request) element() string {
	return string(appendElement(nil, q.address(), q.Host, q.proto()))
}

// address of the peer without brackets.
func (f *Facts) address() string { return strings.Trim(f.Peer, "[]") }

func (f *Facts) proto() string {
	if f.HTTPS {
		return "https"
	}
	return "http"
}
