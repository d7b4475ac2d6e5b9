// Package upstream talks to one server: it sends a client's request and gives the
// response piece by piece, or makes a call on the side and holds the response in
// whole. The everyday request (plain HTTP/1.1, no body or a short one) goes over
// a pooled connection on its own goroutine, everything else through net/http's
// transport. A connection is used again only after an exchange on it that ended
// cleanly, and a response that broke off is never given as whole.
package upstream

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

const (
	// defaultTimeout stands in for an Upstream.Timeout of 0.
	defaultTimeout = 30 * time.Second
	// defaultWait stands in for an Upstream.WaitTimeout of 0.
	defaultWait = 10 * time.Second
	// defaultConns stands in for an Upstream.MaxConns of 0.
	defaultConns = 512
	// defaultResponse stands in for an Upstream.MaxAnswer of 0.
	defaultResponse = 1 << 20
	// dialTimeout bounds connecting, TLS included, unless the whole call's
	// bound is shorter.
	dialTimeout = 5 * time.Second
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 60 * time.Second
	// maxResponseHead bounds a response's status line and header.
	maxResponseHead = 256 << 10
	// continueTimeout is how long an upstream may take to say 100 before the
	// body is sent anyway, as RFC 9110, section 10.1.1 asks for.
	continueTimeout = time.Second
)

// Upstream is one server, with the connections kept open to it. The everyday
// request (HTTP/1.1 in plain text, no body or a short one) goes through pool;
// everything else through net/http's transport.
type Upstream struct {
	spec whittle.Upstream
	// http2 says that HTTP/2 is spoken without asking (gRPC).
	http2 bool
	base  *url.URL
	// prefix is put before each request's target.
	prefix string
	// host replaces the client's Host; empty: the client's is kept.
	host     string
	timeout  time.Duration
	patience patience
	// slots bounds the requests under way, upgraded the connections that have changed
	// to another protocol.
	slots, upgraded slots
	pool            *pool // nil unless base is plain http
	transport       *http.Transport
	// once is for requests that net/http will not send again.
	once *http.Transport
	// upgrader speaks HTTP/1.1 only, since HTTP/2 has no Upgrade.
	upgrader *http.Transport
}

// New checks spec and opens nothing yet.
func New(spec whittle.Upstream, http2, rewriteHost bool) (*Upstream, error) {
	base, err := url.Parse(spec.URL)
	if err != nil || base.Host == "" {
		return nil, badURL(spec.URL, "it has no host")
	}
	if base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return nil, badURL(spec.URL, "user, query and fragment cannot be used here")
	}
	u := &Upstream{spec: spec, http2: http2, base: base, timeout: spec.Timeout, patience: patienceOf(&spec)}
	switch base.Scheme {
	case "http", "https":
	case "h2c":
		u.http2, base.Scheme = true, "http"
	default:
		return nil, badURL(spec.URL, "the scheme must be http, https or h2c")
	}
	if u.timeout <= 0 {
		u.timeout = defaultTimeout
	}
	conns := spec.MaxConns
	if conns <= 0 {
		conns = defaultConns
	}
	wait := spec.WaitTimeout
	if wait <= 0 {
		wait = defaultWait
	}
	u.slots.limit, u.slots.wait, u.slots.shared = conns, wait, u.http2
	u.upgraded.limit, u.upgraded.wait = conns, wait
	u.prefix = strings.TrimSuffix(base.EscapedPath(), "/")
	if rewriteHost {
		u.host = base.Host
	}
	if base.Scheme == "http" && !u.http2 {
		u.pool = newPool(withPort(base), min(dialTimeout, u.timeout), &u.slots)
		u.pool.patience = u.patience
	}
	u.transport = u.newTransport(u.http2, true, conns)
	if u.once = u.transport; !u.http2 { // HTTP/2 says which streams it has not begun
		u.once = u.newTransport(false, true, conns)
		u.once.IdleConnTimeout = trusted
	}
	u.upgrader = u.newTransport(false, false, conns)
	return u, nil
}

func badURL(raw, why string) error {
	return whittle.Errorf(whittle.Invalid, "read upstream %q: %s", raw, why).
		WithHint("write it as http://127.0.0.1:3000, https://host or h2c://host:port").WithField("url")
}

func withPort(u *url.URL) string {
	if port := u.Port(); port != "" {
		return u.Host
	}
	if u.Scheme == "https" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// newTransport makes the general way upstream: always HTTP/2 where forced,
// HTTP/2 by ALPN where it is allowed, else HTTP/1.1.
func (u *Upstream) newTransport(forced, allowed bool, conns int) *http.Transport {
	var p http.Protocols
	p.SetHTTP1(!forced)
	p.SetHTTP2(forced || allowed)
	p.SetUnencryptedHTTP2(forced)
	dialer := &net.Dialer{Timeout: min(dialTimeout, u.timeout)}
	return &http.Transport{
		DialContext: dialer.DialContext,
		// The operator asked for it, by name, for this upstream.
		TLSClientConfig:        &tls.Config{InsecureSkipVerify: u.spec.Insecure}, //nolint:gosec // see above
		TLSHandshakeTimeout:    min(dialTimeout, u.timeout),
		DisableCompression:     true, // bodies pass as they are
		MaxConnsPerHost:        conns,
		MaxIdleConnsPerHost:    min(conns, 64),
		IdleConnTimeout:        idleTimeout,
		ResponseHeaderTimeout:  u.timeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: maxResponseHead,
		Protocols:              &p,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 15 * time.Second, // finds a dead peer behind a silent stream
			PingTimeout:     10 * time.Second,
		},
	}
}

// target is what stands on the request line for a target as the client sent
// it.
func (u *Upstream) target(sent string) string {
	if i := strings.Index(sent, "://"); i > 0 && sent[0] != '/' { // absolute form
		rest := sent[i+len("://"):]
		j := strings.IndexAny(rest, "/?")
		switch {
		case j < 0:
			sent = "/"
		case rest[j] == '?':
			sent = "/" + rest[j:]
		default:
			sent = rest[j:]
		}
	}
	if u.prefix == "" || sent == "*" {
		return sent
	}
	return u.prefix + sent
}

// url wraps a target so that net/http writes it as it is: Opaque is written
// without encoding it again.
func (u *Upstream) url(target string) *url.URL {
	v := &url.URL{Scheme: u.base.Scheme, Host: u.base.Host, Opaque: target}
	if strings.HasPrefix(target, "//") {
		// Opaque would be taken for an authority here. A path of "//" keeps its
		// bytes as long as they are ones that a path may have.
		path, query, has := strings.Cut(target, "?")
		v.Opaque, v.RawPath, v.RawQuery, v.ForceQuery = "", path, query, has && query == ""
		if v.Path, _ = url.PathUnescape(path); v.Path == "" {
			v.Path = path
		}
	}
	return v
}

// Is reports whether the upstream is the one that New makes of these.
func (u *Upstream) Is(spec whittle.Upstream, http2 bool) bool {
	return u.spec == spec && u.http2 == http2
}

// Timeout bounds the wait for a response's head, and the whole of a Call.
func (u *Upstream) Timeout() time.Duration { return u.timeout }

// Server names the server: two upstreams that differ in their settings may be one.
func (u *Upstream) Server() string { return withPort(u.base) }

// Free is how many more requests can be under way.
func (u *Upstream) Free() int { return u.slots.free() }

// Close lets idle connections go; those in use are closed when they are done.
func (u *Upstream) Close() {
	if u.pool != nil {
		u.pool.close()
	}
	u.transport.CloseIdleConnections()
	u.once.CloseIdleConnections()
	u.upgrader.CloseIdleConnections()
}
