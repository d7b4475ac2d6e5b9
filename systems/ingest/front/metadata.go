package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"whittle/stream"
	"whittle/systems/ingest/event"
)

// clientAddress is who sent the request: the peer or, where that is a proxy
// that is believed, the last one in X-Forwarded-For that is not.
func (f *Front) clientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	at := peer.Addr().Unmap()
	if len(f.o.Proxies) == 0 || !f.believed(at) {
		return at.WithZone("").String()
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if at = next.Unmap(); !f.believed(at) {
			break
		}
	}
	return at.WithZone("").String()
}

func (f *Front) believed(a netip.Addr) bool {
	return slices.ContainsFunc(f.o.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Bounds of the headers that are kept with a raw record.
const (
	maxMetadata      = 48
	maxMetadataBytes = 8 << 10
)

// left out of a raw record's metadata: what is about the connection, what is
// about how the body travelled, and what lets somebody in somewhere.
var unkeptHeaders = map[string]bool{
	"Connection": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true, "Trailer": true,
	"Transfer-Encoding": true, "Upgrade": true, "Expect": true, "Http2-Settings": true,
	"Content-Length": true, "Content-Encoding": true, "Accept-Encoding": true,
	"Authorization": true, "Proxy-Authorization": true, "Proxy-Authenticate": true,
	"Cookie": true, "Cookie2": true, "Set-Cookie": true, "X-Csrf-Token": true, "X-Xsrf-Token": true,
	"X-Api-Key": true, "X-Auth-Token": true, "X-Access-Token": true, "X-Amz-Security-Token": true,
	"X-Forwarded-Client-Cert": true,
}

// HeaderAddress is the name under which a raw record has its client's address.
const HeaderAddress = "client-address"

// metadata is the header of a raw record: kind, source and address first, then
// the request's own headers by name, in lower case, as many as the bounds let in.
func (c *call) metadata(r *http.Request) []stream.Header {
	kept := make([]stream.Header, 0, 3+len(r.Header))
	kept = append(kept, stream.Header{Name: event.HeaderKind, Value: string(event.Import)})
	if c.key != "" {
		kept = append(kept, stream.Header{Name: event.HeaderSource, Value: event.Digest(c.key)})
	}
	if c.address != "" {
		kept = append(kept, stream.Header{Name: HeaderAddress, Value: c.address})
	}
	own := len(kept)
	connection := r.Header["Connection"]
	for name, values := range r.Header {
		if unkeptHeaders[name] || namedIn(connection, name) {
			continue
		}
		lower := strings.ToLower(name)
		if slices.Contains(reserved, lower) {
			continue
		}
		for _, v := range values {
			kept = append(kept, stream.Header{Name: lower, Value: v})
		}
	}
	slices.SortStableFunc(kept[own:], func(a, b stream.Header) int { return strings.Compare(a.Name, b.Name) })
	size := 0
	for i, h := range kept {
		size += len(h.Name) + len(h.Value)
		if i >= maxMetadata || size > maxMetadataBytes {
			return kept[:i]
		}
	}
	return kept
}

// reserved are names that a client's header must not forge.
var reserved = []string{event.HeaderKind, event.HeaderSource, HeaderAddress}

// namedIn says whether Connection makes a header one of this hop only.
func namedIn(connection []string, name string) bool {
	for _, line := range connection {
		for part := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(part), name) {
				return true
			}
		}
	}
	return false
}
