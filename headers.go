package whittle

import (
	"slices"
	"strings"
)

// MaxHeaders bounds the names in each list of Comparison's headers.
const MaxHeaders = 32

// ComparesHeader reports whether a difference in a response header (its name in
// canonical form) counts. The content type always counts, and is not asked about here.
func (c *Comparison) ComparesHeader(name string) bool {
	switch {
	case slices.Contains(c.Headers, name):
		return true
	case !c.AllHeaders || neverCompared[name] || AddedByServers(name):
		return false
	}
	return !slices.Contains(c.ExceptHeaders, name)
}

// ListsHeader reports whether a difference in a header is listed without counting:
// one that servers add, unless it was left out by name.
func (c *Comparison) ListsHeader(name string) bool {
	return c.AllHeaders && AddedByServers(name) && !neverCompared[name] &&
		!slices.Contains(c.Headers, name) && !slices.Contains(c.ExceptHeaders, name)
}

// neverCompared are headers whose comparison would say nothing: they describe one
// connection or the bytes on it, or are compared elsewhere.
var neverCompared = set(
	"Content-Type", "Content-Length", "Transfer-Encoding", "Date", "Content-Md5", "Content-Digest", "Repr-Digest", "Digest",
	"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Te", "Trailer", "Upgrade",
)

// AddedByServers reports whether a response header (its name in canonical form) is
// one that servers, frameworks and hops set by themselves, so a candidate written with
// another framework need not have it. Clients of an endpoint act on none of these
// headers, except on those that are ComparedByPresence.
func AddedByServers(name string) bool {
	if addedByServers[name] {
		return true
	}
	return slices.ContainsFunc(addedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(addedSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}

// ComparedByPresence reports whether the presence of a header counts although servers add
// it: a strong ETag is sent on purpose. Other conditions and ranges show in the status.
func ComparedByPresence(name string) bool { return name == "Etag" }

// Headers that servers, frameworks and hops set by themselves, from their documentation
// and sources. docs/comparing.md shows the list, and a test holds it to this one.
var addedByServers = set(
	// Who answered, and through what: every server, PHP, Express, ASP.NET, CMSs.
	"Server", "Via", "X-Powered-By", "X-Powered-Cms", "X-Generator", "X-Aspnet-Version", "X-Aspnetmvc-Version", "X-Sourcefiles",
	"X-Served-By", "X-Backend", "X-Backend-Server", "X-Upstream", "X-Server", "X-Hostname", "X-Instance-Id", "X-Pod-Name",
	"X-Application-Context", "X-Turbo-Charged-By", "X-Ua-Compatible", "P3p", "Ms-Author-Via",
	// Which request, and its trace: Rails, Phoenix, Envoy, AWS, Azure, Google, tracers.
	"Request-Id", "Correlation-Id", "Trace-Id", "Request-Context", "Traceparent", "Tracestate", "Traceresponse", "B3", "Uber-Trace-Id",
	"X-Cloud-Trace-Context", "X-Amzn-Requestid", "X-Amz-Cf-Id", "X-Amz-Cf-Pop", "X-Amz-Apigw-Id", "X-Vercel-Id", "Rndr-Id",
	"X-Debug-Token", "X-Debug-Token-Link", "Phpdebugbar-Id",
	// How long it took, and how old it is: Rails, Express, FastAPI, Kong, caches.
	"Age", "X-Age", "X-Runtime", "X-Process-Time", "X-Timer", "X-Elapsed", "X-Duration", "Server-Timing",
	// Whether it came from a cache: Varnish, Squid, nginx, Fastly, Cloudflare, Next.
	"X-Cache", "X-Cache-Hits", "X-Cache-Lookup", "X-Varnish", "Cache-Status", "X-Drupal-Dynamic-Cache", "X-Edge-Ip", "X-Edge-Location",
	// What the server's next connection may be: CDNs and HTTP/3 servers.
	"Alt-Svc", "Nel", "Report-To", "Reporting-Endpoints", "Expect-Ct", "Public-Key-Pins", "Public-Key-Pins-Report-Only",
	// What browsers may do with a page: helmet, Rails, Spring Security, Django, Phoenix.
	"Content-Security-Policy", "Content-Security-Policy-Report-Only", "Cross-Origin-Embedder-Policy", "Cross-Origin-Opener-Policy",
	"Cross-Origin-Resource-Policy", "Feature-Policy", "Origin-Agent-Cluster", "Permissions-Policy", "Referrer-Policy",
	"Strict-Transport-Security", "X-Content-Type-Options", "X-Dns-Prefetch-Control", "X-Download-Options", "X-Frame-Options",
	"X-Permitted-Cross-Domain-Policies", "X-Xss-Protection", "X-Content-Security-Policy", "X-Webkit-Csp",
	// Made of the body or the file: Express, Rails, Tornado, static files. Pragma says
	// nothing in a response (RFC 9111, section 5.4); Spring Security and PHP send it. Expires is
	// of a clock, and says nothing next to Cache-Control (section 5.3).
	"Etag", "Expires", "Last-Modified", "Accept-Ranges", "Pragma",
	// How many more requests are allowed: rate limiters in front and within.
	"Ratelimit", "Ratelimit-Policy",
)

var addedPrefixes = []string{
	"Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-", // express-rate-limit, Laravel, Kong, GitHub's ways
	"X-Envoy-", "X-Kong-", "X-Amzn-Remapped-", "X-Amzn-Trace-", "X-B3-", "X-Datadog-", "X-Ot-Span-", "Sentry-",
	"Cf-", "X-Fastly-", "X-Akamai-", "X-Sucuri-", "X-Litespeed-", "X-Nextjs-", "X-Azure-", "X-Ms-Edge-",
}

var addedSuffixes = []string{
	"-Request-Id", "-Trace-Id", "-Span-Id", "-Correlation-Id",
	"-Response-Time", "-Processing-Time", "-Latency",
	"-Cache", "-Cache-Status",
}

func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out
}
