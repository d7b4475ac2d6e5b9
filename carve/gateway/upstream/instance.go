package upstream

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync/atomic"
)

// instance is one of an upstream's servers, at one address, with the connections
// kept open to it.
type instance struct {
	// address is what is dialled: host:port.
	address string
	dialer  net.Dialer
	pool    *pool // nil unless the upstream is lean
	ways    transports
	// running counts the requests under way through net/http.
	running atomic.Int64
}

// way is one of those in which net/http sends a request.
type way uint8

const (
	wayKept way = iota
	// wayOnce is for requests that net/http will not send again.
	wayOnce
	// wayUpgrade speaks HTTP/1.1 only, since HTTP/2 has no Upgrade.
	wayUpgrade
	ways
)

// transports has one for each way.
type transports [ways]*http.Transport

// newInstance makes one at host:port, whose certificate is for server.
func (u *Upstream) newInstance(address, server string) *instance {
	i := &instance{address: address, dialer: net.Dialer{Timeout: min(dialTimeout, u.timeout)}}
	if u.lean {
		i.pool = newPool(i.dial, &u.slots, u.patience)
	}
	i.ways[wayKept] = u.newTransport(i, server, u.http2, true)
	if i.ways[wayOnce] = i.ways[wayKept]; !u.http2 { // HTTP/2 says which streams it has not begun
		i.ways[wayOnce] = u.newTransport(i, server, false, true)
		i.ways[wayOnce].IdleConnTimeout = trusted
	}
	i.ways[wayUpgrade] = u.newTransport(i, server, false, false)
	return i
}

// newTransport makes a way through net/http: always HTTP/2 where forced, HTTP/2 by
// ALPN where it is allowed, else HTTP/1.1.
func (u *Upstream) newTransport(i *instance, server string, forced, allowed bool) *http.Transport {
	var p http.Protocols
	p.SetHTTP1(!forced)
	p.SetHTTP2(forced || allowed)
	p.SetUnencryptedHTTP2(forced)
	return &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return i.dial(ctx) },
		// The operator asked for it, by name, for this upstream.
		TLSClientConfig:        &tls.Config{ServerName: server, InsecureSkipVerify: u.spec.Insecure}, //nolint:gosec // see above
		TLSHandshakeTimeout:    min(dialTimeout, u.timeout),
		DisableCompression:     true, // bodies pass as they are
		MaxConnsPerHost:        u.conns(),
		MaxIdleConnsPerHost:    min(u.conns(), 64),
		IdleConnTimeout:        idleTimeout,
		ResponseHeaderTimeout:  u.timeout,
		ExpectContinueTimeout:  continueTimeout,
		MaxResponseHeaderBytes: maxResponseHead,
		Protocols:              &p,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: sendPing,
			PingTimeout:     pingTimeout,
		},
	}
}

func (i *instance) dial(ctx context.Context) (net.Conn, error) {
	return i.dialer.DialContext(ctx, "tcp", i.address)
}

// lease is a slot that a request through net/http holds, at an instance.
type lease struct {
	slots *slots
	at    *instance
}

func (l *lease) end() {
	l.at.running.Add(-1)
	l.slots.release()
}

// load is how many requests are under way at the instance.
func (i *instance) load() int64 {
	n := i.running.Load()
	if i.pool != nil {
		n += i.pool.running.Load()
	}
	return n
}

// close lets idle connections go; those in use are closed when they are done.
func (i *instance) close() {
	if i.pool != nil {
		i.pool.close()
	}
	for _, t := range i.ways {
		t.CloseIdleConnections()
	}
}
