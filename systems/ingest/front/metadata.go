package front

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"whittle/internal/httpfield"
	"whittle/systems/ingest/event"
	"whittle/systems/ingest/stream"
)

// clientAddress is who sent the request: the peer or, where that is a proxy
// that is believed, the last one in X-Forwarded-For that is not.
func (f *Front) clientAddress(r *http.Request) string {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	at := peer.Addr().Unmap()
	if len(f.o.Proxies) == 0 || !f.isTrusted(at) {
		if peer.Addr().Is4() { // which is written in one way only
			return r.RemoteAddr[:strings.LastIndexByte(r.RemoteAddr, ':')]
		}
		return at.WithZone("").String()
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if at = next.Unmap(); !f.isTrusted(at) {
			break
		}
	}
	return at.WithZone("").String()
}

func (f *Front) isTrusted(a netip.Addr) bool {
	return slices.ContainsFunc(f.o.Proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Bounds of the headers that are kept with a raw record.
const (
	maxMetadata      = 48
	maxMetadataBytes = 8 << 10
)

// fieldNames are fields that clients send every day, as a raw record has them,
// in lower case. Empty is what it is left without: what is about the connection,
// what is about how the body travelled, what lets somebody in somewhere, and
// the names of the front's own that a client must not forge.
var fieldNames = func() map[string]string {
	m := map[string]string{}
	for _, name := range []string{
		"Accept", "Accept-Language", "Cache-Control", "Content-Type", "Dnt", "Forwarded", "Idempotency-Key", "Origin", "Referer",
		"Sec-Ch-Ua", "Sec-Ch-Ua-Mobile", "Sec-Ch-Ua-Platform", "Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Traceparent",
		"Tracestate", "User-Agent", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "X-Request-Id",
	} {
		m[name] = strings.ToLower(name)
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Expect", "Http2-Settings",
		"Content-Length", "Content-Encoding", "Accept-Encoding",
		"Authorization", "Proxy-Authorization", "Proxy-Authenticate", "Cookie", "Cookie2", "Set-Cookie", "X-Csrf-Token", "X-Xsrf-Token",
		"X-Api-Key", "X-Auth-Token", "X-Access-Token", "X-Amz-Security-Token", "X-Forwarded-Client-Cert",
		http.CanonicalHeaderKey(event.HeaderKind), http.CanonicalHeaderKey(event.HeaderSource),
		http.CanonicalHeaderKey(HeaderAddress), http.CanonicalHeaderKey(HeaderMissing),
	} {
		m[name] = ""
	}
	return m
}()

// HeaderAddress is the name under which a raw record has its client's address.
const HeaderAddress = "client-address"

// HeaderMissing is the name under which a raw record says how many of its request's
// headers it is without, because the bounds did not let them in.
const HeaderMissing = "headers-missing"

// metadata is the header of a raw record: kind, source and address first, then
// the request's own headers by name, in lower case, as many as the bounds let in, and
// how many they did not. It is the scratch's memory.
func (c *call) metadata(r *http.Request) []stream.Header {
	kept := append(c.headers[:0], stream.Header{Name: event.HeaderKind, Value: string(event.Import)})
	if c.key != "" {
		kept = append(kept, stream.Header{Name: event.HeaderSource, Value: event.Digest(c.key)})
	}
	if c.address != "" {
		kept = append(kept, stream.Header{Name: HeaderAddress, Value: c.address})
	}
	own := len(kept)
	connection := r.Header["Connection"]
	for name, values := range r.Header {
		lower, usual := fieldNames[name]
		if !usual {
			lower = strings.ToLower(name)
		}
		if lower == "" || httpfield.HasToken(connection, name) {
			continue
		}
		for _, v := range values {
			kept = append(kept, stream.Header{Name: lower, Value: v})
		}
	}
	c.headers = kept
	slices.SortStableFunc(kept[own:], func(a, b stream.Header) int { return strings.Compare(a.Name, b.Name) })
	size := 0
	for i, h := range kept {
		size += len(h.Name) + len(h.Value)
		if i >= maxMetadata || size > maxMetadataBytes {
			missing := len(kept) - i
			c.f.metrics.missing.Add(float64(missing))
			return append(kept[:i], stream.Header{Name: HeaderMissing, Value: strconv.Itoa(missing)})
		}
	}
	return kept
}
