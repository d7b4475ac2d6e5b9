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
	"unicode/utf8"

	"whittle"
	"whittle/internal/http1"
	"whittle/internal/units"
)

// maxInstances bounds the URLs of one upstream.
const maxInstances = 256

// upstream reads a URL, a list of them or a mapping with either, over the defaults
// in u. Where it was a mapping it comes back still open, for more fields to be read
// from.
func (r *reader) upstream(n *node, path string, u *whittle.Upstream, files folder) (*object, bool) {
	const want = "a URL such as http://127.0.0.1:3000, or {url: …, timeout: …}"
	if n.kind != isMapping {
		r.instances(n, path, want, u)
		return nil, false
	}
	o, _ := r.object(n, path, want)
	if at, ok := o.get("url"); ok {
		r.instances(at, o.sub("url"), "a URL such as http://127.0.0.1:3000, or a list of them", u)
	} else {
		o.need(false, "url", "write url: http://127.0.0.1:3000")
	}
	read(o, "resolver", "the address of a DNS server such as 10.0.0.2:53", &u.Resolver, parseResolver)
	read(o, "host", "client, url or a name", &u.Host, parseHost)
	read(o, "build", "a name such as 1.4.1", &u.Build, parseBuild)
	o.duration("timeout", &u.Timeout, time.Millisecond, day)
	o.duration("connect_timeout", &u.ConnectTimeout, time.Millisecond, time.Hour)
	o.duration("read_timeout", &u.ReadTimeout, time.Millisecond, day)
	o.duration("stream_timeout", &u.StreamTimeout, time.Millisecond, day)
	o.duration("write_timeout", &u.WriteTimeout, time.Millisecond, day)
	o.duration("wait_timeout", &u.WaitTimeout, time.Millisecond, day)
	o.size("max_response", &u.MaxResponse, kib, gib)
	o.count("max_conns", &u.MaxConns, 1, maxNum)
	read(o, "max_age", "a duration such as 10m, or off", &u.MaxAge, orOff(func(s string) (time.Duration, error) {
		return parseDuration(s, time.Second, 30*day)
	}))
	read(o, "max_requests", "a whole number, or off", &u.MaxRequests, orOff(func(s string) (int, error) {
		return parseCount(s, 1, 1_000_000_000)
	}))
	o.flag("insecure", &u.Insecure)
	r.upstreamTLS(o, u, files)
	r.health(o, &u.Health)
	r.ejection(o, &u.Ejection)
	o.share("panic", &u.Panic)
	choose(o, "proxy_protocol", &u.ProxyProtocol, []string{"off", "v1", "v2"}, 0, 1, 2)
	read(o, "metrics", "the URL of a Prometheus page such as http://127.0.0.1:6667/metrics", &u.Metrics, func(s string) (string, error) {
		return parseURL(s, "http", "https")
	})
	if o.given("resolver") && u.URL != "" && !slices.ContainsFunc(append([]string{u.URL}, u.Others...), isNamed) {
		r.failField(o.sub("resolver"), "has no effect, since no URL has a name that is looked up")
	}
	return o, true
}

// orOff also takes off, for 0.
func orOff[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(s string) (T, error) {
		var none T
		if s == "off" {
			return none, nil
		}
		return parse(s)
	}
}

func (r *reader) upstreamTLS(o *object, u *whittle.Upstream, files folder) {
	t, ok := o.child("tls", "{ca: FILE, cert: FILE, key: FILE}")
	if !ok {
		return
	}
	r.clientTLS(t, &u.TLS, "app.internal", files)
	read(t, "verify_name", "a name such as app.internal", &u.TLS.VerifyName, parseServerName)
	choose(t, "min_version", &u.TLS.MinVersion, []string{"1.2", "1.3"}, 0, tls.VersionTLS13)
	t.done()
	t.checkPair()
	if u.URL != "" && !isHTTPS(u.URL) {
		r.failField(t.path, "has no effect, since the URL is not https")
	}
	if u.Insecure {
		t.useless("with insecure: true, which accepts any certificate", "ca", "verify_name")
	}
}

// clientTLS reads by which files a client speaks TLS, and the server's name.
func (r *reader) clientTLS(t *object, into *whittle.UpstreamTLS, example string, files folder) {
	t.file("ca", &into.CA, files)
	t.file("cert", &into.Certificate, files)
	t.file("key", &into.Key, files)
	read(t, "server_name", "a name such as "+example, &into.ServerName, parseServerName)
}

// checkPair refuses a certificate without its key, and the other way.
func (o *object) checkPair() {
	for key, other := range map[string]string{"cert": "key", "key": "cert"} {
		if !o.given(other) {
			o.useless("without "+other+":, which belongs to it; both are files in PEM", key)
		}
	}
}

func isHTTPS(raw string) bool { return strings.HasPrefix(strings.TrimPrefix(raw, "srv+"), "https://") }

func (r *reader) health(o *object, h *whittle.Health) {
	c, ok := o.child("health", "{path: /healthz, interval: 10s}")
	if !ok {
		return
	}
	*h = whittle.Health{Interval: 10 * time.Second, Timeout: 2 * time.Second, Healthy: 2, Unhealthy: 3, Least: 200, Most: 399}
	read(c, "path", "a path such as /healthz", &h.Path, parseTarget)
	if g, asked := c.child("grpc", "{}, or {service: shop.v1.Cart}"); asked {
		h.GRPC = true
		read(g, "service", "a service's name such as shop.v1.Cart", &h.Service, parseService)
		g.done()
		if h.Path != "" {
			r.failField(g.path, "cannot be asked for together with path:; leave one out")
		}
	}
	c.duration("interval", &h.Interval, 10*time.Millisecond, day)
	c.duration("timeout", &h.Timeout, time.Millisecond, time.Hour)
	c.count("healthy", &h.Healthy, 1, 1000)
	c.count("unhealthy", &h.Unhealthy, 1, 1000)
	why := "without path:, since a connection that can be opened is enough then"
	if h.GRPC {
		why = "with grpc:, whose response says SERVING or not"
	}
	statuses := [2]int{h.Least, h.Most}
	if read(c, "status", "a status such as 200, or a range such as 200-399", &statuses, parseStatuses) && h.Path == "" && !r.failed(c.sub("path")) {
		r.failField(c.sub("status"), "has no effect %s", why)
	}
	h.Least, h.Most = statuses[0], statuses[1]
	c.done()
}

// healthGRPC checks that an upstream whose health is asked for by gRPC speaks HTTP/2:
// spoken says that it does whatever its URL.
func (r *reader) healthGRPC(o *object, u *whittle.Upstream, spoken bool) {
	scheme, _, _ := strings.Cut(strings.TrimPrefix(u.URL, "srv+"), ":")
	if u.Health.GRPC && !spoken && (scheme == "http" || scheme == "unix") {
		r.failField(o.sub("health.grpc"), "cannot be asked, since the URL's server speaks HTTP/1.1; write an h2c:// or https:// URL")
	}
}

// parseService reads the name of a gRPC service.
func parseService(s string) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."
	if s == "" || len(s) > 253 || strings.Trim(s, letters) != "" {
		return "", fmt.Errorf("%s is not the name of a service: write shop.v1.Cart", quote(s))
	}
	return s, nil
}

func (r *reader) ejection(o *object, e *whittle.Ejection) {
	const want = "{consecutive: 5, time: 30s}, or off"
	n, ok := o.get("eject")
	if !ok {
		return
	}
	if n.kind != isMapping {
		readNode(r, n, o.sub("eject"), want, e, func(s string) (whittle.Ejection, error) {
			if s != "off" {
				return *e, fmt.Errorf("%s is not how instances are ejected: write %s", quote(s), want)
			}
			return whittle.Ejection{}, nil
		})
		return
	}
	c, _ := r.object(n, o.sub("eject"), want)
	c.count("consecutive", &e.Consecutive, 1, 10_000)
	c.duration("time", &e.Base, time.Millisecond, day)
	e.Most = max(e.Most, e.Base)
	if c.duration("max_time", &e.Most, time.Millisecond, 30*day) && e.Most < e.Base {
		r.failField(c.sub("max_time"), "is less than time: %s, for which an instance is ejected the first time", units.Span(e.Base))
	}
	c.share("share", &e.Share)
	c.done()
}

// upstreamDefaults is an upstream of which the config says nothing.
func upstreamDefaults() whittle.Upstream {
	return whittle.Upstream{
		ConnectTimeout: 5 * time.Second, ReadTimeout: time.Minute, StreamTimeout: time.Hour, WriteTimeout: time.Minute,
		MaxResponse: 4 * mib,
		Ejection:    whittle.Ejection{Consecutive: 5, Base: 30 * time.Second, Most: 5 * time.Minute, Share: whittle.Percent(50)},
		Panic:       whittle.Percent(50),
	}
}

// parseResolver reads the address of a DNS server.
func parseResolver(s string) (string, error) {
	if a, err := netip.ParseAddrPort(s); err != nil || a.Port() == 0 {
		return "", fmt.Errorf("%s is not the address of a DNS server: write 10.0.0.2:53, an address and a port", quote(s))
	}
	return s, nil
}

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

// noHosts are words that people write in place of a host.
var noHosts = []string{"auto", "backend", "client", "false", "keep", "no", "none", "off", "on", "original", "pass", "preserve", "true", "upstream", "url", "yes"}

func parseServerName(s string) (string, error) {
	if slices.Contains([]string{"false", "no", "none", "off", "on", "true", "yes"}, strings.ToLower(s)) {
		return "", fmt.Errorf("%s would be the name: write one such as app.internal, or leave the field out for its default", quote(s))
	}
	if s == "" || strings.Contains(s, ":") || hostFault(s) != "" {
		return "", fmt.Errorf("%s is not the name of a server: write app.internal", quote(s))
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
func parseStatuses(s string) ([2]int, error) {
	from, to, ranged := strings.Cut(s, "-")
	if !ranged {
		to = from
	}
	least, err := parseCount(strings.TrimSpace(from), 200, 599)
	most, wrong := parseCount(strings.TrimSpace(to), 200, 599)
	if err != nil || wrong != nil || least > most {
		return [2]int{}, fmt.Errorf("%s is neither a status nor a range of them: write 200 or 200-399", quote(s))
	}
	return [2]int{least, most}, nil
}

// instances reads the URL of each of an upstream's instances.
func (r *reader) instances(n *node, path, want string, u *whittle.Upstream) {
	if n.kind != isSequence {
		readNode(r, n, path, want, &u.URL, parseUpstream)
		return
	}
	switch count := len(n.items); {
	case count == 0:
		r.fail(n.at, path, "is empty; write %s", want)
		return
	case count > maxInstances:
		r.fail(n.items[maxInstances].at, path, "has %d entries, and at most %d are read; a name that has all the addresses has no such bound", count, maxInstances)
		return
	}
	var all []string
	for i, it := range n.items {
		var raw string
		at := fmt.Sprintf("%s[%d]", path, i)
		r.where[at] = it.at
		if !readNode(r, it, at, "a URL such as http://127.0.0.1:3000", &raw, parseUpstream) {
			continue
		}
		switch {
		case slices.Contains(all, raw):
			r.fail(it.at, at, "%s stands there already", quote(raw))
		case len(all) > 0 && kindOf(raw) != kindOf(all[0]):
			r.fail(it.at, at, "%s is another kind of server than %s: the instances of one have the same scheme and the same path", quote(raw), quote(all[0]))
		}
		all = append(all, raw)
	}
	if len(all) > 0 {
		u.URL, u.Others = all[0], all[1:]
	}
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
	return strings.TrimPrefix(u.Scheme, "srv+") + "://" + u.EscapedPath()
}

// isNamed reports whether a URL's host is looked up in DNS.
func isNamed(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && u.Scheme != "unix" && !addressOf(u.Hostname()).IsValid()
}

// parseUpstream reads the URL of an upstream.
func parseUpstream(s string) (string, error) {
	if path, ok := strings.CutPrefix(s, "unix://"); ok {
		if !strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") || strings.ContainsAny(path, "?#%") {
			return "", fmt.Errorf("%s is no socket: write unix:///%s, with the whole path and nothing behind it", quote(s), socketIn(path))
		}
		return s, nil
	}
	if path, ok := strings.CutPrefix(s, "http://unix:"); ok { // as nginx has it
		path, _, _ = strings.Cut(path, ":")
		return "", fmt.Errorf("%s is no URL of a socket: write unix:///%s", quote(s), socketIn(path))
	}
	v, err := parseURL(s, "http", "https", "h2c", "srv+http", "srv+https", "srv+h2c", "unix")
	if err == nil && strings.HasPrefix(s, "srv+") {
		if u, err := url.Parse(s); err == nil && (u.Port() != "" || addressOf(u.Hostname()).IsValid()) {
			return "", fmt.Errorf("%s: SRV records belong to a name, and say the port: write srv+http://_web._tcp.shop.example", quote(s))
		}
	}
	return v, err
}

// socketIn is the path that was probably meant, without its first slash.
func socketIn(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if path = strings.Trim(path, "/"); path == "" || strings.ContainsAny(path, "#%") {
		return "run/app.sock"
	}
	return path
}

// parseBuild reads the name of a build: one short line.
func parseBuild(s string) (string, error) {
	if s == "" || len(s) > 200 || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) {
		return "", fmt.Errorf("%s names no build: write one line of at most 200 bytes, such as 1.4.1 or a commit", quote(s))
	}
	return s, nil
}

// describeUpstream says how requests go to an upstream.
func describeUpstream(u *whittle.Upstream) string {
	s := fmt.Sprintf("%s, %s to connect, %s to its first byte, %s between bytes (%s in a stream), %s to take some of a body, at most %d connections, %s to get one",
		strings.Join(append([]string{u.URL}, u.Others...), " and "), units.Span(u.ConnectTimeout), units.Span(u.Timeout), units.Span(u.ReadTimeout), units.Span(u.StreamTimeout),
		units.Span(u.WriteTimeout), u.MaxConns, units.Span(u.WaitTimeout))
	for _, part := range []struct {
		said bool
		text string
	}{
		{u.Build != "", "build " + u.Build},
		{u.Resolver != "", "its name asked of " + u.Resolver},
		{u.Host == whittle.HostOfURL, "with the URL's own host"},
		{u.Host != "" && u.Host != whittle.HostOfURL, "with the host " + u.Host},
		{u.MaxAge > 0, "connections at most " + units.Span(u.MaxAge) + " old"},
		{u.MaxRequests > 0, fmt.Sprintf("%d requests over one", u.MaxRequests)},
		{u.ProxyProtocol > 0, fmt.Sprintf("PROXY protocol v%d, so a connection for each client", u.ProxyProtocol)},
		{u.TLS.CA != "", "certificates of " + u.TLS.CA},
		{u.TLS.Certificate != "", "shown " + u.TLS.Certificate},
		{u.TLS.ServerName != "", "asked for as " + u.TLS.ServerName},
		{u.TLS.VerifyName != "", "whose certificate is for " + u.TLS.VerifyName},
		{u.TLS.MinVersion == tls.VersionTLS13, "TLS 1.3"},
		{u.Insecure, "any certificate"},
	} {
		if part.said {
			s += ", " + part.text
		}
	}
	return s
}

// describeInstances says which of an upstream's instances get requests. Of a single
// one that is not checked there is nothing to say.
func describeInstances(b *strings.Builder, u *whittle.Upstream) {
	if h := &u.Health; h.Interval > 0 {
		how := "by a connection that can be opened"
		switch {
		case h.GRPC && h.Service == "":
			how = "by grpc.health.v1"
		case h.GRPC:
			how = "by grpc.health.v1 for " + h.Service
		case h.Path != "":
			how = fmt.Sprintf("by GET %s with %d", h.Path, h.Least)
			if h.Most != h.Least {
				how += fmt.Sprintf(" to %d", h.Most)
			}
		}
		line(b, "", "checked %s every %s, within %s; unhealthy after %d that fail, healthy after %d that do not", how, units.Span(h.Interval), units.Span(h.Timeout), h.Unhealthy, h.Healthy)
	}
	if len(u.Others) == 0 && !isNamed(u.URL) {
		return
	}
	e := &u.Ejection
	if e.Consecutive == 0 {
		line(b, "", "instances are not ejected")
		return
	}
	line(b, "", "an instance is ejected for %s to %s after %d failures in a row, at most %s of them at once; with less than %s fit, all get requests",
		units.Span(e.Base), units.Span(e.Most), e.Consecutive, percent(e.Share.Percent()/100), percent(u.Panic.Percent()/100))
}
