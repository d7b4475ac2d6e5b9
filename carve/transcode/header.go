package transcode

import (
	"slices"
	"strings"

	"whittle"
	"whittle/internal/httpfield"
)

// notForwarded are the headers that a call does not inherit, in addition to those of one hop
// (RFC 9110, section 7.6.1): those of a range or a condition that the RPC has no notion of,
// and what a browser says of itself, which would make a service apply its rules for browsers
// to the gateway.
var notForwarded = map[string]bool{
	"Http2-Settings": true, "Host": true, "Expect": true, "Range": true, "Origin": true, "Referer": true,
}

// prefixesNotForwarded are families of headers: the body's, the response's
// negotiation and conditions, the browser's, and those by which the RPC
// protocols steer a call, which is not the client's to do.
var prefixesNotForwarded = []string{"Content-", "Accept", "If-", "Sec-", "Grpc-", "Connect-", "Twirp-"}

// notReturned are a response's headers that belong to the call and not to the
// mapped response, in addition to those of one hop.
var notReturned = map[string]bool{
	"Accept-Encoding": true, "Accept-Post": true, "Accept-Ranges": true, "Etag": true, "Last-Modified": true,
	"Content-Type": true, "Content-Length": true, "Content-Encoding": true, "Content-Range": true,
	"Content-Md5": true, "Content-Digest": true,
}

// What a response says of its use (Content-Security-Policy, Content-Disposition)
// is the user's.
var prefixesNotReturned = []string{"Grpc-", "Connect-", "Trailer-"}

// inherit copies the headers that a call or a response inherits, with room for its own.
func inherit(from whittle.Header, names map[string]bool, prefixes []string) whittle.Header {
	to := make(whittle.Header, len(from)+4)
	hop := from["Connection"]
	for name, values := range from {
		if names[name] || httpfield.HopByHop(name) || httpfield.HasToken(hop, name) || strings.HasSuffix(name, "-Bin") ||
			slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		to[name] = values[:len(values):len(values)]
	}
	return to
}

// isJSON accepts application/json and what is built on it (RFC 6839).
func isJSON(value string) bool {
	value, _, _ = strings.Cut(value, ";")
	value = strings.ToLower(strings.TrimSpace(value))
	return value == "application/json" || strings.HasSuffix(value, "+json")
}
