package config

import (
	"crypto/tls"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/units"
)

const (
	day          = 24 * time.Hour
	kib    int64 = 1 << 10
	mib    int64 = 1 << 20
	gib    int64 = 1 << 30
	maxNum       = 1 << 20

	// maxInstances bounds the URLs of one upstream.
	maxInstances = 256
	// likeUpstream says in messages how an upstream is written.
	likeUpstream = "{url: http://127.0.0.1:3000, timeout: 30s}"
)

// waits are the defaults that the two sides do not share.
type waits struct{ timeout, conns, wait string }

var (
	monolithWaits  = waits{"1m", "1024", "10s"}
	candidateWaits = waits{"5s", "256", "100ms"}
)

// upstreamKeys are those of both sides.
func upstreamKeys(u *whittle.Upstream, w waits) []key {
	return []key{
		{"url", instances(u), required, "`http://`, `https://`, `h2c://` (HTTP/2 without TLS) or `unix:///PATH`. A path is a prefix; a list means several instances"},
		{"resolver", word(&u.Resolver, hostPort, parseResolver), "(the system's)", "DNS server for names, such as `10.0.0.2:53`"},
		{"host", word(&u.Host, serverName, parseHost), "client", "`Host` sent upstream: the client's, the URL's (`url`), or a name"},
		{"build", word(&u.Build, matching("text", "", "number", "boolean"), parseBuild), "(none)", "the running version, such as a commit. A new one begins the evidence afresh"},
		{"timeout", span(&u.Timeout, time.Millisecond, day), w.timeout, "for a whole mirrored call, or the first byte of a user's response"},
		{"connect_timeout", span(&u.ConnectTimeout, time.Millisecond, time.Hour), "5s", "to open a connection, TLS included; at most `timeout`"},
		{"read_timeout", span(&u.ReadTimeout, time.Millisecond, day), "1m", "for the next byte of a response's body; then the response is cut"},
		{"stream_timeout", span(&u.StreamTimeout, time.Millisecond, day), "1h", "the same in event streams and gRPC responses"},
		{"write_timeout", span(&u.WriteTimeout, time.Millisecond, day), "1m", "for the upstream to accept the next bytes of a request's body; then 504"},
		{"wait_timeout", span(&u.WaitTimeout, time.Millisecond, day), w.wait, "for one of `max_conns`; then 503, or for a candidate the monolith's response"},
		{"max_response", amount(&u.MaxResponse, kib, gib), "4MiB", "of a response that must be held whole (mirrored or transcoded)"},
		{"max_conns", count(&u.MaxConns, 1, maxNum), w.conns, "connections in use; mirrored and repeated requests take at most half"},
		{"insecure", boolean(&u.Insecure), "false", "accepts any TLS certificate; `whittle check` warns"},
		{"tls", upstreamTLS(u), "", "TLS to an https upstream; files are read again when they change"},
		{"health", health(&u.Health), "(none)", "health checks of each instance. Without a `path`, opening a connection is enough"},
		{"eject", ejection(&u.Ejection), "(on)", "takes a failing instance out for a time"},
		{"panic", share(&u.Panic), "50%", "when a smaller share of the instances is healthy, all get requests"},
	}
}

// checkUpstream refuses what relates the keys of an upstream to each other. grpc says that it
// speaks gRPC whatever its URL.
func checkUpstream(a at, u *whittle.Upstream, grpc bool) {
	if a.given("resolver") && u.URL != "" && !slices.ContainsFunc(all(u), isNamed) {
		a.failKey("resolver", "has no effect, since no URL has a name that is looked up")
	}
	if a.given("tls") && u.URL != "" && !isHTTPS(u.URL) {
		a.failKey("tls", "has no effect, since the URL is not https")
	}
	if u.Insecure {
		a.useless("with insecure: true, which accepts any certificate", "tls.ca")
	}
	scheme, _, _ := strings.Cut(u.URL, ":")
	if u.Health.GRPC && !grpc && (scheme == "http" || scheme == "unix") {
		a.failKey("health.grpc", "cannot be asked, since the URL's server speaks HTTP/1.1; write an h2c:// or https:// URL")
	}
}

// monolith is the upstream that responds today.
func monolith(u *whittle.Upstream) value {
	return either(mapping(likeUpstream, func(a at) { checkUpstream(a, u, false) }, upstreamKeys(u, monolithWaits)...), instances(u))
}

// all are an upstream's URLs.
func all(u *whittle.Upstream) []string { return append([]string{u.URL}, u.Others...) }

// instances is a URL or a list of them.
func instances(u *whittle.Upstream) value {
	one := scalar(&u.URL, upstreamURL, parseUpstream, asIs)
	var urls []string
	many := listOf(&urls, 1, maxInstances, func(s *string) value {
		v := word(s, upstreamURL, nil)
		v.text = func(a at, text string) (err error) {
			*s, err = parseUpstream(text)
			switch {
			case err != nil:
			case slices.Contains(urls, *s):
				err = fmt.Errorf("%s stands there already", quote(*s))
			case len(urls) > 0 && kindOf(*s) != kindOf(urls[0]):
				err = fmt.Errorf("%s differs from %s in kind: the instances of a server have the same scheme and path", quote(*s), quote(urls[0]))
			}
			return err
		}
		return v
	})
	item := many.list.item
	many.list.item = func() (value, func()) {
		v, keep := item()
		return v, func() { keep(); u.URL, u.Others = urls[0], urls[1:] }
	}
	return value{text: one.text, form: one.form, list: many.list, show: func() string {
		if len(u.Others) == 0 {
			return u.URL
		}
		return "[" + strings.Join(all(u), ", ") + "]"
	}}
}

var upstreamURL = matching("URL such as `http://127.0.0.1:3000`", `^([hH][tT][tT][pP][sS]?|h2c)://[^?#\s]+$|^unix:///[^?#%]+$`)

// parseUpstream reads the URL of an upstream.
func parseUpstream(s string) (string, error) {
	path, unix := strings.CutPrefix(s, "unix://")
	if strings.HasPrefix(s, "unix:") || strings.HasPrefix(s, "http://unix:") {
		if !unix || !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsAny(path, "?#%") {
			return "", fmt.Errorf("%s is no socket: write unix:///run/app.sock, with the whole path and nothing behind it", quote(s))
		}
		return s, nil
	}
	return parseURL(s, "http", "https", "h2c")
}

// kindOf is what all URLs of one upstream must have in common.
func kindOf(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return raw
	case u.Scheme == "unix":
		return "http://"
	}
	return u.Scheme + "://" + u.EscapedPath()
}

// isNamed reports whether a URL's host is looked up in DNS.
func isNamed(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme != "unix" && !addressOf(u.Hostname()).IsValid()
}

func isHTTPS(raw string) bool { return strings.HasPrefix(raw, "https://") }

// clientTLS are the keys by which a client speaks TLS.
func clientTLS(t *whittle.UpstreamTLS) []key {
	return []key{
		{"ca", file(&t.CA), "(the system's)", "PEM file of trusted authorities"},
		{"cert", file(&t.Certificate), "(none)", "PEM file of the client certificate"},
		{"key", file(&t.Key), "(none)", "its key in PEM"},
		{"server_name", word(&t.ServerName, serverName, parseServerName), "(the URL's host)", "name to send (SNI) and to expect in the certificate"},
	}
}

// checkPair refuses a certificate without its key, and the other way.
func checkPair(a at) {
	if a.given("cert") != a.given("key") {
		a.useless("without the other; a certificate and its key belong together, both files in PEM", "cert", "key")
	}
}

func upstreamTLS(u *whittle.Upstream) value {
	t := &u.TLS
	v := mapping("{ca: FILE, cert: FILE, key: FILE}", checkPair, append(clientTLS(t),
		key{"min_version", choice(&t.MinVersion, []string{"1.2", "1.3"}, 0, tls.VersionTLS13), "1.2", "least version"})...)
	v.open = func() {}
	v.absent = func() bool { return *t == whittle.UpstreamTLS{} }
	return v
}

func health(h *whittle.Health) value {
	v := mapping("{path: /healthz, interval: 10s}", func(a at) {
		if a.given("grpc") && h.Path != "" {
			a.failKey("grpc", "cannot be asked for together with path:; leave one out")
		}
		if h.Path == "" && !a.failed("path") {
			a.useless("without path:: a connection that can be opened is enough, or gRPC says SERVING", "status")
		}
	},
		key{"path", word(&h.Path, matching("path with an optional query", `^/[^#\s]*$`), parseTarget), "(none)", "path to GET"},
		key{"grpc", value{
			block: func() block {
				return block{like: "{}, or {service: shop.v1.Cart}", keys: []key{{"service", rpcService.of(&h.Service), "(the server as a whole)", "the service to ask about"}}}
			},
			open: func() { h.GRPC = true }, absent: func() bool { return !h.GRPC },
		}, "(none)", "checks by `grpc.health.v1` instead"},
		key{"interval", span(&h.Interval, 10*time.Millisecond, day), "10s", "between two checks of an instance, give or take a tenth"},
		key{"timeout", span(&h.Timeout, time.Millisecond, time.Hour), "2s", "for a check"},
		key{"healthy", count(&h.Healthy, 1, 1000), "2", "successful checks in a row until an instance gets requests again"},
		key{"unhealthy", count(&h.Unhealthy, 1, 1000), "3", "failed checks in a row until it gets none; at the start, one"},
		key{"status", value{
			form: matching("status such as `200`, or range such as `200-399`", `^[0-9]+(\s*-\s*[0-9]+)?$`, "integer"),
			text: func(_ at, s string) (err error) { h.Least, h.Most, err = parseStatuses(s); return err },
			show: func() string { return fmt.Sprintf("%d-%d", h.Least, h.Most) },
		}, "200-399", "statuses that count as success"})
	v.open = func() {}
	v.absent = func() bool { return h.Interval == 0 }
	return v
}

func ejection(e *whittle.Ejection) value {
	v := mapping("{consecutive: 5, time: 30s}", func(a at) {
		if !a.given("max_time") {
			e.Most = max(e.Most, e.Base)
		} else if e.Most < e.Base && !a.failed("max_time") {
			a.failKey("max_time", "is less than time: %s, for which an instance is ejected the first time", units.Span(e.Base))
		}
	},
		key{"consecutive", count(&e.Consecutive, 1, 10_000), "5", "failures in a row: no response, or a 5xx"},
		key{"time", span(&e.Base, time.Millisecond, day), "30s", "length of the first ejection; each further one adds as much"},
		key{"max_time", span(&e.Most, time.Millisecond, 30*day), "5m", "longest ejection"},
		key{"share", share(&e.Share), "50%", "share of the instances that may be out; at least one, never all"})
	v.form = matching("`off`", "^off$")
	v.text = func(_ at, s string) error {
		if s != "off" {
			return fmt.Errorf("%s does not say when to eject instances: write {consecutive: 5, time: 30s}, or off", quote(s))
		}
		*e = whittle.Ejection{}
		return nil
	}
	shown := v
	v.show = func() string {
		if e.Consecutive == 0 {
			return "off"
		}
		return braced(shown, shown.shown())
	}
	return v
}

// parseResolver reads the address of a DNS server.
func parseResolver(s string) (string, error) {
	if a, err := netip.ParseAddrPort(s); err != nil || a.Port() == 0 {
		return "", fmt.Errorf("%s is not the address of a DNS server: write 10.0.0.2:53, an address and a port", quote(s))
	}
	return s, nil
}

var serverName = matching("name of a server or a service", `^[A-Za-z0-9._:-]+$`)

// Words that people write in place of a name, and of a host.
var (
	noNames = []string{"false", "no", "none", "off", "on", "true", "yes"}
	noHosts = []string{"auto", "backend", "client", "keep", "original", "pass", "preserve", "upstream", "url"}
)

// parseHost reads which Host goes upstream; client is "".
func parseHost(s string) (string, error) {
	switch s {
	case "client":
		return "", nil
	case "url":
		return whittle.HostOfURL, nil
	}
	name, port, ported := strings.Cut(s, ":")
	if _, err := parseServerName(name); err != nil || ported && !isPort(port) || slices.Contains(noHosts, strings.ToLower(s)) {
		return "", fmt.Errorf("%s is not a host: write client for the client's own, url for the URL's, or a name such as app.internal", quote(s))
	}
	return s, nil
}

func parseServerName(s string) (string, error) {
	if strings.Contains(s, ":") || hostFault(s) != "" || slices.Contains(noNames, strings.ToLower(s)) {
		return "", fmt.Errorf("%s is not the name of a server: write one such as app.internal, or leave the field out for its default", quote(s))
	}
	return s, nil
}

// parseTarget reads a path with an optional query, as it stands on a request line.
func parseTarget(s string) (string, error) {
	if !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || strings.Contains(s, "#") || !http1.IsTarget(s) {
		return "", fmt.Errorf("%s is not a path: write /healthz", quote(s))
	}
	return s, nil
}

// parseStatuses reads one status or a range of them.
func parseStatuses(s string) (least, most int, err error) {
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		to = from
	}
	least, err = parseCount(strings.TrimSpace(from), 200, 599)
	most, wrong := parseCount(strings.TrimSpace(to), 200, 599)
	if err != nil || wrong != nil || least > most {
		return 0, 0, fmt.Errorf("%s is neither a status nor a range of them: write 200 or 200-399", quote(s))
	}
	return least, most, nil
}

// parseBuild reads the name of a build: one short line.
func parseBuild(s string) (string, error) {
	if s == "" || len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) {
		return "", fmt.Errorf("%s names no build: write one line of at most 200 bytes, such as 1.4.1 or a commit", quote(s))
	}
	return s, nil
}
