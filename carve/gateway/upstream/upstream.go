// Package upstream talks to a server, or to several instances of one. It sends a client's
// request to an instance and returns the response piece by piece, or makes a call on the
// side and holds the response whole. An everyday request (plain HTTP/1.1, no body or a
// short one) goes over a pooled connection on its own goroutine, everything else through
// net/http's transport. A connection is used again only after an exchange on it ended
// cleanly, and a response that broke off never looks complete.
package upstream

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/resolve"
)

const (
	// defaultTimeout stands in for an Upstream.Timeout of 0.
	defaultTimeout = 30 * time.Second
	// defaultWait stands in for an Upstream.WaitTimeout of 0.
	defaultWait = 10 * time.Second
	// defaultConns stands in for an Upstream.MaxConns of 0.
	defaultConns = 512
	// defaultResponse stands in for an Upstream.MaxResponse of 0.
	defaultResponse = 1 << 20
	// defaultConnect stands in for an Upstream.ConnectTimeout of 0.
	defaultConnect = 5 * time.Second
	// idleTimeout is how long an unused connection is kept.
	idleTimeout = 60 * time.Second
	// maxIdle bounds the idle connections of a transport whose clients share none.
	maxIdle = 1024
	// maxResponseHead bounds a response's status line and header.
	maxResponseHead = 256 << 10
	// sendPing and pingTimeout find a dead peer behind a silent HTTP/2 stream.
	sendPing    = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// Upstream is one server, or several instances of one, as they are asked within a
// timeout. The everyday request (HTTP/1.1, no body or a short one) goes through an
// instance's pool; everything else through net/http's transport.
type Upstream struct {
	*shared
	timeout time.Duration
	// repeats is as in Repeating.
	repeats bool
}

// shared is what an upstream has whatever the timeout.
type shared struct {
	spec whittle.Upstream
	log  *slog.Logger
	// http2 says that HTTP/2 is spoken without asking (gRPC).
	http2 bool
	// base is the first URL.
	base *url.URL
	// prefix is put before each request's target.
	prefix string
	// host replaces the client's Host; empty: the client's is kept.
	host     string
	patience patience
	tls      *clientTLS // nil: none is spoken
	// http1 says that the instances are known to speak HTTP/1.1, so that the everyday
	// request goes through a pool. By TLS that shows with the first response.
	http1 atomic.Bool
	// slots bounds the requests under way at all instances, upgraded the connections
	// that have changed to another protocol.
	slots, upgraded slots

	group   atomic.Pointer[group]
	origins []origin
	counts
	// work is what follows names and checks instances, until end is called.
	work sync.WaitGroup
	end  context.CancelFunc

	mu     sync.Mutex // guards the following, and the making of groups
	found  []found    // by origin
	closed bool
}

// New checks spec. It follows the names in it and checks instances until Close. A
// nil log is told nothing. What earlier upstreams know of the same names holds until
// the first look-up, so that a reload neither waits for DNS nor depends on it.
func New(spec whittle.Upstream, http2 bool, log *slog.Logger, earlier ...*Upstream) (*Upstream, error) {
	origins, err := parseURLs(&spec)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	base := origins[0].url
	if base.Scheme == "h2c" {
		http2 = true
		base = &url.URL{Scheme: "http", Host: base.Host, Path: base.Path, RawPath: base.RawPath}
	}
	u := &shared{spec: spec, log: log, http2: http2, base: base, patience: patienceOf(&spec), origins: origins, found: make([]found, len(origins))}
	if base.Scheme == "https" {
		if u.tls, err = newClientTLS(&spec, log); err != nil {
			return nil, err
		}
	}
	wait := above0(spec.WaitTimeout, defaultWait)
	u.slots.limit, u.slots.wait, u.slots.shared = u.conns(), wait, u.http2
	u.upgraded.limit, u.upgraded.wait = u.conns(), wait
	u.prefix = strings.TrimSuffix(base.EscapedPath(), "/")
	if u.host = spec.Host; u.host == whittle.HostOfURL {
		u.host = base.Host
	}
	u.http1.Store(base.Scheme == "http" && !u.http2)
	for _, e := range earlier {
		u.inherit(e)
	}
	u.begin()
	return &Upstream{shared: u, timeout: above0(spec.Timeout, defaultTimeout)}, nil
}

// begin makes the instances that are known, and looks for the others.
func (u *shared) begin() {
	var ctx context.Context
	ctx, u.end = context.WithCancel(context.Background())
	u.mu.Lock()
	defer u.mu.Unlock()
	u.group.Store(&group{replaced: make(chan struct{})})
	u.regroup()
	for at, s := range u.origins {
		if s.name != nil {
			u.work.Go(func() {
				s.name.Follow(ctx, func(addresses []string, err error) { u.follow(at, addresses, err) })
			})
		}
	}
}

// Within is the same upstream, asked within another timeout. 0: u itself.
func (u *Upstream) Within(timeout time.Duration) *Upstream {
	if timeout <= 0 || timeout == u.timeout {
		return u
	}
	v := *u
	v.timeout = timeout
	return &v
}

// Repeating is the same upstream, but it asks another instance as well where one hung up
// before its response to a request that may be repeated. Without Repeating the failure
// shows, as a candidate's has to.
func (u *Upstream) Repeating() *Upstream {
	v := *u
	v.repeats = true
	return &v
}

// Same reports whether two are one upstream, asked in one way.
func (u *Upstream) Same(v *Upstream) bool { return *u == *v }

// conns is how many requests may be under way.
func (u *shared) conns() int { return above0(u.spec.MaxConns, defaultConns) }

// above0 is a value, or its default where it is not above 0.
func above0[T int | int64 | time.Duration](v, otherwise T) T { return cmp.Or(max(v, 0), otherwise) }

// connectTimeout bounds the opening of a connection.
func (u *shared) connectTimeout() time.Duration {
	bound := above0(u.spec.ConnectTimeout, defaultConnect)
	if u.spec.Timeout > 0 {
		bound = min(bound, u.spec.Timeout)
	}
	return bound
}

// name is that of the upstream in logs and metrics.
func (u *shared) name() string { return u.spec.URL }

// url wraps a target so that net/http writes it as it is: Opaque is written
// without encoding it again.
func (u *shared) url(target string) *url.URL {
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
func (u *shared) Is(spec whittle.Upstream, http2 bool) bool {
	return (u.http2 == http2 || u.origins[0].url.Scheme == "h2c") && reflect.DeepEqual(u.spec, spec)
}

// Timeout bounds the wait for a response's head, and the whole of a Call.
func (u *Upstream) Timeout() time.Duration { return u.timeout }

// Server names the first instance: two upstreams that differ in their settings may be
// one server.
func (u *shared) Server() string {
	if s := u.origins[0]; s.network == "unix" {
		return s.address
	}
	return withPort(u.base)
}

// Free is how many more requests can be under way.
func (u *shared) Free() int { return u.slots.free() }

// Close ends what follows names and checks instances, and waits for it. It lets idle
// connections go; those in use are closed when they are done.
func (u *shared) Close() {
	u.mu.Lock()
	if !u.closed {
		u.closed = true
		u.end()
		for _, i := range u.group.Load().all {
			i.close()
		}
	}
	u.mu.Unlock()
	u.work.Wait()
}

// origin is one URL of an upstream: an instance, or a name that has some.
type origin struct {
	// url is as it was written, but for a scheme of http, https or h2c.
	url *url.URL
	// server is whom the certificate is for.
	server string
	// name is followed in DNS; nil: address is dialled, on network, as it is.
	name             *resolve.Name
	network, address string
}

// parseURLs reads the URLs of an upstream, which are of one kind.
func parseURLs(spec *whittle.Upstream) (all []origin, err error) {
	for _, raw := range append([]string{spec.URL}, spec.Others...) {
		s, err := parseURL(raw, spec.Resolver)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 && (s.url.Scheme != all[0].url.Scheme || pathOf(s.url) != pathOf(all[0].url)) {
			return nil, badURL(raw, "the instances of an upstream have one scheme and one path")
		}
		all = append(all, s)
	}
	return all, nil
}

func parseURL(raw, resolver string) (s origin, err error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return s, badURL(raw, "it cannot be read")
	case u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return s, badURL(raw, "user, query and fragment cannot be used here")
	case u.Scheme == "unix":
		if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
			return s, badURL(raw, "the path of a socket begins with a third /")
		}
		return origin{url: &url.URL{Scheme: "http", Host: "localhost"}, server: "localhost", network: "unix", address: u.Path}, nil
	case u.Hostname() == "":
		return s, badURL(raw, "it has no host")
	case u.Port() == "" && strings.HasSuffix(u.Host, ":"):
		return s, badURL(raw, "no port follows its colon") // as where a variable of a script is empty
	case u.Port() != "" && !isPort(u.Port()):
		return s, badURL(raw, "its port is not from 1 to 65535")
	}
	if u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "h2c" {
		return s, badURL(raw, "the scheme must be http, https, h2c or unix")
	}
	host := u.Hostname()
	s = origin{url: u, server: host, network: "tcp", address: withPort(u)}
	if net.ParseIP(strings.Trim(host, "[]")) == nil && !strings.Contains(host, "%") && !isLocalhost(host) {
		_, port, _ := net.SplitHostPort(s.address)
		s.name = &resolve.Name{Host: host, Port: port, Server: resolver}
	}
	return s, nil
}

func isPort(text string) bool {
	n, err := strconv.ParseUint(text, 10, 16)
	return err == nil && n > 0
}

// isLocalhost reports whether a host is this machine by its name: its addresses are
// two of one server.
func isLocalhost(host string) bool {
	return strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost")
}

func pathOf(u *url.URL) string { return strings.TrimSuffix(u.EscapedPath(), "/") }

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
