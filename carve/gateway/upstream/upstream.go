// Package upstream talks to a server, or to several that are the same: it sends a
// client's request to one of them and gives the response piece by piece, or makes a
// call on the side and holds the response in whole. The everyday request (plain HTTP/1.1, no body or a short one) goes over
// a pooled connection on its own goroutine, everything else through net/http's
// transport. A connection is used again only after an exchange on it that ended
// cleanly, and a response that broke off is never given as whole.
package upstream

import (
	"cmp"
	"net"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
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
	// sendPing and pingTimeout find a dead peer behind a silent HTTP/2 stream.
	sendPing    = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// Upstream is one server, or several instances of one. The everyday request
// (HTTP/1.1 in plain text, no body or a short one) goes through an instance's pool;
// everything else through net/http's transport.
type Upstream struct {
	spec whittle.Upstream
	// http2 says that HTTP/2 is spoken without asking (gRPC), lean that the everyday
	// request goes through a pool.
	http2, lean bool
	// base is the first URL.
	base *url.URL
	// prefix is put before each request's target.
	prefix string
	// host replaces the client's Host; empty: the client's is kept.
	host     string
	timeout  time.Duration
	patience patience
	// slots bounds the requests under way at all instances, upgraded the connections
	// that have changed to another protocol.
	slots, upgraded slots
	group           atomic.Pointer[group]
}

// New checks spec and opens nothing yet.
func New(spec whittle.Upstream, http2, rewriteHost bool) (*Upstream, error) {
	bases, err := parseURLs(&spec)
	if err != nil {
		return nil, err
	}
	base := bases[0]
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
	conns := u.conns()
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
	u.lean = base.Scheme == "http" && !u.http2
	g := &group{}
	for _, b := range bases {
		g.all = append(g.all, u.newInstance(withPort(b), b.Hostname()))
	}
	u.group.Store(g)
	return u, nil
}

// parseURLs reads the URLs of an upstream's instances, which differ in their hosts.
func parseURLs(spec *whittle.Upstream) ([]*url.URL, error) {
	var all []*url.URL
	for _, raw := range append([]string{spec.URL}, spec.Others...) {
		u, err := url.Parse(raw)
		switch {
		case err != nil || u.Host == "":
			return nil, badURL(raw, "it has no host")
		case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
			return nil, badURL(raw, "user, query and fragment cannot be used here")
		case len(all) > 0 && (u.Scheme != all[0].Scheme || strings.TrimSuffix(u.EscapedPath(), "/") != strings.TrimSuffix(all[0].EscapedPath(), "/")):
			return nil, badURL(raw, "the instances of an upstream have one scheme and one path")
		}
		all = append(all, u)
	}
	return all, nil
}

// conns is how many requests may be under way.
func (u *Upstream) conns() int { return cmp.Or(max(u.spec.MaxConns, 0), defaultConns) }

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
	return u.http2 == http2 && reflect.DeepEqual(u.spec, spec)
}

// Timeout bounds the wait for a response's head, and the whole of a Call.
func (u *Upstream) Timeout() time.Duration { return u.timeout }

// Server names the first instance: two upstreams that differ in their settings may be
// one server.
func (u *Upstream) Server() string { return withPort(u.base) }

// Free is how many more requests can be under way.
func (u *Upstream) Free() int { return u.slots.free() }

// Close lets idle connections go; those in use are closed when they are done.
func (u *Upstream) Close() {
	for _, i := range u.group.Load().all {
		i.close()
	}
}
