// Package wire sends a plan's requests: connections and their pools, exchanges of HTTP/1.1
// and HTTP/2, cookies and redirects. A run's users share a Network; each has a
// Client. It measures each exchange and counts nothing.
package wire

import (
	"net/url"
	"time"

	"whittle"
	"whittle/load/plan"
)

// The protocols.
const (
	HTTP1 = "http/1.1"
	// HTTP2 is negotiated by ALPN for https targets, and used with prior knowledge
	// ("h2c") for http targets.
	HTTP2 = "h2"
)

// Config is what a Network is made of.
type Config struct {
	Plan *plan.Plan
	// Target is the base URL of the plan's relative requests.
	Target string
	// Protocol is HTTP1 or HTTP2. Empty: HTTP1.
	Protocol string
	// Pool is how many connections to each server all users share. 0: each user has
	// connections of its own.
	Pool int
	// KeepBody is how many bytes of every response's body are kept at least; more
	// where the plan reads them.
	KeepBody int
	// Proxy says which proxy the environment has for a server: nothing is sent through one.
	// Nil: none.
	Proxy func(*url.URL) (*url.URL, error)
	// Now is the clock.
	Now func() time.Time
}

// Network is what the users of a run share: its servers, its prepared requests and
// its connections. It is safe for concurrent use.
type Network struct {
	now      func() time.Time
	keepBody int
	// lateCookies is HTTPSettings.LateCookies.
	lateCookies bool
	prepared    map[*plan.Request]*request
	origins     *origins
	dialer      *dialer
}

// NewNetwork prepares the requests of a plan. It opens no connection.
func NewNetwork(c Config) (*Network, error) {
	if c.Protocol != "" && c.Protocol != HTTP1 && c.Protocol != HTTP2 {
		return nil, whittle.Errorf(whittle.Invalid, "the protocol %q is neither %s nor %s", c.Protocol, HTTP1, HTTP2)
	}
	n := &Network{
		now: c.Now, keepBody: c.KeepBody, lateCookies: c.Plan.HTTP.LateCookies, dialer: newDialer(c.Pool, c.Now), prepared: map[*plan.Request]*request{},
		origins: &origins{
			target: c.Target, insecure: c.Plan.HTTP.Insecure, protocol: c.Protocol, proxy: c.Proxy,
			known: map[string]origin{}, slots: map[string]int{},
		},
	}
	for _, r := range c.Plan.Requests() {
		q, err := n.request(r)
		if err != nil {
			return nil, err
		}
		n.prepared[r] = q
	}
	return n, nil
}

// request is a request of the plan as it was prepared, or one that was made since.
func (n *Network) request(r *plan.Request) (*request, error) {
	if q, ok := n.prepared[r]; ok {
		return q, nil
	}
	if r.Address != nil {
		return &request{Request: r}, nil
	}
	at, err := n.origins.find(r.Origin)
	if err != nil {
		return nil, err
	}
	return prepareRequest(r, at), nil
}

// Plain reports whether some request may be without TLS, which is what an event loop sends.
func (n *Network) Plain() bool {
	for _, q := range n.prepared {
		if q.endpoint == nil || q.endpoint.plain() {
			return true
		}
	}
	return false
}

// Pool is how many connections to each server all users share; 0: none.
func (n *Network) Pool() int { return n.dialer.pool }

// Abort closes every connection that is not on an event loop, idle or in use, and
// refuses new ones.
func (n *Network) Abort() { n.dialer.abort() }

// CloseIdle closes the idle connections that users share.
func (n *Network) CloseIdle() { n.dialer.closeIdle() }

// bodyLimit is how many bytes of a response's body are kept.
func (n *Network) bodyLimit(q *request) int { return max(q.keep, n.keepBody) }
