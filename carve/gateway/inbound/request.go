// Package inbound describes a client's request as it arrives: its connection and client,
// its hop-by-hop fields, whether it asks for another protocol, and the length of its body.
// All of this is computed once, on arrival, and travels with the request as one value.
package inbound

import (
	"bytes"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"whittle"
	"whittle/carve/gateway/listener"
	"whittle/internal/http1"
	"whittle/internal/httpfield"
)

// LoopHeader is the field by which a request that comes back is known: CDN-Loop
// (RFC 8586), as net/http spells it. Via (RFC 9110, section 7.6.3) would do as
// well, but origins act on it: nginx, for one, stops compressing.
const LoopHeader = "Cdn-Loop"

// Reader reads clients' requests, by what the config says of proxies and names.
type Reader struct {
	// Trusted lists the networks of proxies that are believed about their
	// clients.
	Trusted []netip.Prefix
	// Mark is the name of this gateway in LoopHeader. Empty: requests are not
	// marked, so a loop is not recognized.
	Mark string
	// RequestID is the field that the gateway itself writes to name requests, in lower
	// case: a client's is dropped from a request in bytes. Empty: there is none.
	RequestID string
	// KeepUnderscores keeps fields whose names have an underscore, which many
	// servers read as a dash.
	KeepUnderscores bool
}

// Request is a client's request with what is known of it. It is passed by value;
// whoever changes the *http.Request changes the copy's.
type Request struct {
	*http.Request
	Facts
}

// Facts are what was worked out of a request when it came.
type Facts struct {
	// Conn is the client's connection; nil where it is none of whittle's own
	// listeners', where other streams share it (HTTP/2), and once the request's
	// body has been read in whole.
	Conn listener.Client
	// ConnNumber numbers the client's connection, from 1; 0 where the request did
	// not come by a whittle listener.
	ConnNumber uint64
	// Peer is the address of whoever sent the request, without its port.
	Peer string
	// Trusted says that the peer is believed about its own client.
	Trusted bool
	// Origin is what the connection itself says.
	Origin listener.Origin
	// HTTPS says that the request came by TLS.
	HTTPS bool
	// Looped says that this gateway has forwarded the request before.
	Looped bool
	// TwoHosts says that a host field names another host than the request is for.
	TwoHosts bool
	// Upgrade is the protocol that the request wants to change to, or "".
	Upgrade string
	// Streams says that it asks for an upgrade, is one of the polls that a connection is made
	// of, or ends with a trailer, which is not kept: no other server could respond to it.
	Streams bool
	// Length is that of the body; -1 where it is not announced.
	Length int64
	// Whole says that the body has been read from the client, and is in memory.
	Whole bool

	// Named are the fields that the Connection header lists, canonically.
	Named []string

	reader *Reader
}

// Read works out a request's facts. It removes two kinds of fields from the header:
// a host field that came in addition to HTTP/2's :authority, so that one Host is
// forwarded, and fields that the reader does not keep. From the trailer it removes what
// may not be there.
func (d *Reader) Read(r *http.Request) Request {
	if !d.KeepUnderscores {
		for name := range r.Header {
			if strings.IndexByte(name, '_') >= 0 {
				delete(r.Header, name)
			}
		}
	}
	for name := range r.Trailer {
		if !d.trails(name) {
			delete(r.Trailer, name)
		}
	}
	conn, number, origin := listener.ConnOf(r)
	q := Request{r, Facts{
		Origin: origin,
		Conn:   conn, ConnNumber: number,
		Peer: listener.PeerOf(r.RemoteAddr), HTTPS: r.TLS != nil || origin.HTTPS, Upgrade: listener.UpgradeOf(r), Length: r.ContentLength,
		reader: d, Named: httpfield.ConnectionNames(r.Header),
	}}
	if r.Body == nil || r.Body == http.NoBody {
		q.Length = 0
	}
	if len(d.Trusted) > 0 {
		ip, ok := parseHop(q.Peer)
		q.Trusted = ok && listener.Within(d.Trusted, ip)
	}
	if marks := r.Header[LoopHeader]; marks != nil && d.Mark != "" {
		q.Looped = httpfield.HasToken(marks, d.Mark)
	}
	if hosts := r.Header["Host"]; hosts != nil {
		q.TwoHosts = len(hosts) > 1 || !strings.EqualFold(hosts[0], r.Host)
		delete(r.Header, "Host")
	}
	delete(r.Header, "Expect") // reading the body says 100, and no upstream is asked for one
	q.Streams = q.Upgrade != "" || len(r.Trailer) > 0 || polls(r.RequestURI)
	return q
}

// HoldsBody says that the request's body has been read and is r's new one, of so
// many bytes. Whatever becomes of it, there is nothing left on the client's
// connection to be stalled by, or to be taken for another request.
func (f *Facts) HoldsBody(length int64) { f.Conn, f.Length, f.Whole = nil, length, true }

// Client is the client's address, in the form of Peer. It is the peer's or, if the peer
// is trusted, the last address in X-Forwarded-For (else in Forwarded, else in X-Real-IP)
// that is not trusted itself. Addresses to the left of that one are ignored, because anybody may
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

// Claims reports whether the peer says something of its own client.
func (q *Request) Claims() bool {
	for _, name := range [...]string{"X-Forwarded-For", "Forwarded", "X-Real-Ip", "X-Forwarded-Proto", "X-Forwarded-Host"} {
		if len(q.Header[name]) > 0 {
			return true
		}
	}
	return false
}

// eachHop yields what proxies wrote of their clients, the nearest one first,
// until yield returns false.
func eachHop(h http.Header, yield func(hop string) bool) {
	lines, element := h["X-Forwarded-For"], false
	if lines == nil {
		lines, element = h["Forwarded"], true
	}
	if lines == nil {
		lines, element = h["X-Real-Ip"], false
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

// parseHop reads an address as proxies write it, alone or with a port, which may be a name
// that hides one (RFC 7239, section 6): 192.0.2.1, 192.0.2.1:80, 192.0.2.1:_x, 2001:db8::1,
// [2001:db8::1], [2001:db8::1]:80.
func parseHop(s string) (netip.Addr, bool) {
	host := s
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, rest, ok = strings.Cut(rest, "]")
		if !ok || rest != "" && rest[0] != ':' {
			return netip.Addr{}, false
		}
	} else if strings.Count(s, ":") == 1 {
		host, _, _ = strings.Cut(s, ":")
	}
	ip, err := netip.ParseAddr(host)
	return ip.Unmap().WithZone(""), err == nil
}

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
	before := h["X-Forwarded-For"]
	if before == nil && !standard {
		before = h["X-Real-Ip"] // the proxy says by it alone who the client is
	}
	common := before != nil || h["X-Forwarded-Host"] != nil || h["X-Forwarded-Proto"] != nil
	if standard || !common {
		yield("Forwarded", listed(h["Forwarded"], ", ", q.element()))
	}
	for name, values := range h {
		if claims(name) && name != "Forwarded" && name != "X-Forwarded-For" && (name != clientCertificate || q.Origin.Certificate == "") {
			for _, v := range values {
				yield(name, v)
			}
		}
	}
	if q.Origin.Certificate != "" {
		yield(clientCertificate, listed(h[clientCertificate], ",", q.Origin.Certificate))
	}
	if standard && !common {
		return
	}
	yield("X-Forwarded-For", listed(before, ", ", q.address()))
	if h["X-Forwarded-Host"] == nil && q.Host != "" {
		yield("X-Forwarded-Host", q.Host)
	}
	if h["X-Forwarded-Proto"] == nil {
		yield("X-Forwarded-Proto", q.proto())
	}
}

// clientCertificate is the field that says whose certificate the client has shown.
const clientCertificate = "X-Forwarded-Client-Cert"

// listed puts the last element behind the earlier ones. An empty line has none.
func listed(earlier []string, comma, last string) string {
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
// Host, each a line, as it came. claims reports whether the peer said something of its own
// client, which is not believed. False: the request has to be looked at by name.
func (d *Reader) AppendRaw(b []byte, h *http1.RequestHead, peer string, https bool) (out []byte, claims, ok bool) {
	if len(d.Trusted) > 0 {
		return b, false, false
	}
	for i := range h.Len() {
		f := h.Field(i)
		switch {
		case is(f.Name, "cdn-loop"):
			if bytes.Contains(f.Value, []byte(d.Mark)) || h.HopByHop(i) {
				return b, false, false
			}
		case is(f.Name, "te"):
			return b, false, false
		case is(f.Name, "forwarded"), is(f.Name, "x-real-ip"), len(f.Name) > len(forwardedBy) && is(f.Name[:len(forwardedBy)], forwardedBy):
			claims = true
			continue
		case d.RequestID != "" && is(f.Name, d.RequestID),
			is(f.Name, "host"), is(f.Name, "content-length"),
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
	return append(b, "\r\n"...), claims, true
}

// forwardedBy begins the names of fields by which proxies say who their clients are.
const forwardedBy = "x-forwarded-"

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

// polls reports whether a request belongs to a connection that is made of polls, as
// clients use where WebSocket is not to be had. Its response is what that session's
// server has to say next, given once, and no other server knows the session: Engine.IO
// (Socket.IO), SockJS (Meteor), SignalR of ASP.NET, Phoenix, Blazor, Atmosphere.
func polls(target string) bool {
	path, query, _ := strings.Cut(target, "?")
	if path == "/_blazor" || strings.HasPrefix(path, "/_blazor/") || strings.HasSuffix(path, "/longpoll") || sockJS(path) {
		return true
	}
	engine := false
	polling := false
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		switch name, value, _ := strings.Cut(pair, "="); name {
		case "EIO":
			engine = true
		case "transport":
			polling = polling || value == "polling"
			if value == "longPolling" || value == "serverSentEvents" || value == "foreverFrame" {
				return true
			}
		case "X-Atmosphere-Transport":
			return true
		}
	}
	return engine && polling
}

// sockJS reports whether a path ends in server, session and transport: three digits, a
// name and one of a few words.
func sockJS(path string) bool {
	rest, transport, ok := cutLast(path)
	if !ok {
		return false
	}
	switch transport {
	case "xhr", "xhr_send", "xhr_streaming", "jsonp", "jsonp_send", "eventsource", "htmlfile":
	default:
		return false
	}
	rest, session, ok := cutLast(rest)
	if !ok || session == "" {
		return false
	}
	_, server, ok := cutLast(rest)
	return ok && len(server) == 3 && strings.Trim(server, "0123456789") == ""
}

func cutLast(path string) (before, last string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}
