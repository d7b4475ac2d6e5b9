// Package inbound knows a client's request as it comes in: over which connection
// and from whom, which of its fields concern that connection alone, whether it
// asks for another protocol, and how long its body is. All of it is worked out
// once, when it comes, and travels with the request as one value.
package inbound

import (
	"net/http"
	"net/netip"
	"strings"

	"whittle/carve/gateway/listener"
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
	// marked, and none is known again.
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
	// Streams says that it asks for an upgrade or an event stream, to which no
	// response is ever whole.
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
		Peer: peerOf(r), HTTPS: r.TLS != nil || origin.HTTPS, Upgrade: listener.UpgradeOf(r), Length: r.ContentLength,
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
	if r.Header["Expect"] != nil && listener.BodyCame(r) {
		delete(r.Header, "Expect") // the client has not waited for a 100, and neither does the upstream
	}
	q.Streams = q.Upgrade != "" || AcceptsStream(r.Header) || polls(r.RequestURI)
	return q
}

// AcceptsStream reports whether a header asks for an event stream.
func AcceptsStream(h map[string][]string) bool {
	return httpfield.HasToken(h["Accept"], "text/event-stream")
}

// HoldsBody says that the request's body has been read and is r's new one, of so
// many bytes. Whatever becomes of it, there is nothing left on the client's
// connection to be stalled by, or to be taken for another request.
func (f *Facts) HoldsBody(length int64) { f.Conn, f.Length, f.Whole = nil, length, true }
