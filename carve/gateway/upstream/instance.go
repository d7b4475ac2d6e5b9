package upstream

import (
	"context"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// instance is one of an upstream's servers, at one address, with the connections
// kept open to it.
type instance struct {
	u *shared
	// network and address are what is dialled: host:port, or the path of a socket;
	// server is whom its certificate is for.
	network, address, server string

	pool *pool // nil: HTTP/2 is spoken without asking
	ways atomic.Pointer[transports]
	// running counts the requests under way through net/http.
	running atomic.Int64
	// priority and weight are those of its name's record; a weight is above 0.
	priority, weight atomic.Int64
	// failed counts the requests in a row that failed.
	failed atomic.Int32
	// end ends the checks.
	end context.CancelFunc

	// The following are guarded by the upstream's mu.

	closed bool
	health health
	// unhealthy and ejected are settled when a group is made.
	unhealthy, ejected bool
	ejection           ejection
}

// newInstance makes the one of an origin that is at an address. The caller holds mu.
func (u *shared) newInstance(s origin, address string) *instance {
	i := &instance{u: u, network: s.network, address: address, server: s.server}
	if !u.http2 {
		i.pool = newPool(func(ctx context.Context, client string) (net.Conn, error) {
			return i.connect(ctx, client, onlyHTTP1)
		}, &u.slots, u.patience)
		i.pool.address = address
		i.pool.maxAge, i.pool.maxRequests = u.spec.MaxAge, u.spec.MaxRequests
	}
	i.ways.Store(i.newTransports())
	var ctx context.Context
	ctx, i.end = context.WithCancel(context.Background())
	if u.spec.Health.Interval > 0 && !u.closed {
		u.work.Go(func() { i.check(ctx) })
	}
	return i
}

// way is one of those in which net/http sends a request.
type way uint8

const (
	wayKept way = iota
	// wayOnce is for requests that net/http will not send again.
	wayOnce
	// wayUpgrade speaks HTTP/1.1 only, since HTTP/2 has no Upgrade.
	wayUpgrade
	// wayNew opens a connection for each request, where that can be said.
	wayNew
	ways
)

// transports has one for each way. Their connections are as old as they are at most.
type transports struct {
	by    [ways]*http.Transport
	made  time.Time
	taken atomic.Int64 // requests
}

func (i *instance) newTransports() *transports {
	t := &transports{made: time.Now()}
	http2 := i.u.http2
	t.by[wayKept] = i.newTransport(http2, wayKept)
	if t.by[wayOnce] = t.by[wayKept]; !http2 { // HTTP/2 says which streams it has not begun
		t.by[wayOnce] = i.newTransport(false, wayOnce)
		t.by[wayOnce].IdleConnTimeout = trusted
	}
	t.by[wayUpgrade] = i.newTransport(false, wayUpgrade)
	t.by[wayNew] = i.newTransport(http2, wayNew)
	t.by[wayNew].DisableKeepAlives = !http2
	return t
}

// newTransport makes a way through net/http: always HTTP/2 where forced, HTTP/2 by
// ALPN where nothing is upgraded, else HTTP/1.1.
func (i *instance) newTransport(forced bool, by way) *http.Transport {
	var p http.Protocols
	allowed := by != wayUpgrade
	p.SetHTTP1(!forced)
	p.SetHTTP2(forced || allowed)
	p.SetUnencryptedHTTP2(forced)
	spoken := onlyHTTP1
	switch {
	case forced:
		spoken = onlyHTTP2
	case allowed:
		spoken = bothHTTP
	}
	dial := func(ctx context.Context, _, address string) (net.Conn, error) {
		client := ""
		if i.u.spec.ProxyProtocol > 0 {
			client = clientOf(address)
		}
		if forced || !allowed {
			return i.connect(ctx, client, spoken)
		}
		return i.connectFor(ctx, client, spoken, by == wayOnce)
	}
	return &http.Transport{
		DialContext:            dial,
		DialTLSContext:         dial,
		DisableCompression:     true, // bodies pass as they are
		MaxConnsPerHost:        i.u.conns(),
		MaxIdleConnsPerHost:    min(i.u.conns(), 64),
		MaxIdleConns:           maxIdle,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHead,
		Protocols:              &p,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: sendPing,
			PingTimeout:     pingTimeout,
		},
	}
}

// hostOf is the URL's host by which net/http keeps the connections of clients apart
// that may share none; clientOf is whose a host and port is. Nobody resolves it.
func hostOf(client string) string { return hex.EncodeToString([]byte(client)) + ".client" }

func clientOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	b, _ := hex.DecodeString(strings.TrimSuffix(host, ".client")) // as hostOf made it
	return string(b)
}

// transport gives the way for a request. Where connections may not be older, or have
// carried more, the transports are replaced and the old ones end with what they have
// under way.
func (i *instance) transport(by way) *http.Transport {
	t := i.ways.Load()
	age, most := i.u.spec.MaxAge, int64(i.u.spec.MaxRequests)
	if age <= 0 && most <= 0 {
		return t.by[by]
	}
	if age > 0 && time.Since(t.made) > age || t.taken.Add(1) > most && most > 0 {
		next := i.newTransports()
		next.taken.Store(1)
		if i.ways.CompareAndSwap(t, next) {
			t.retire()
		}
		t = i.ways.Load()
	}
	return t.by[by]
}

// retire lets idle connections go. What is in use is closed when it has been idle
// for as long as the transport keeps it.
func (t *transports) retire() {
	for _, tr := range t.by {
		tr.CloseIdleConnections()
	}
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

// close lets idle connections go and ends the checks; connections in use are closed
// when they are done. The caller holds the upstream's mu.
func (i *instance) close() {
	i.closed = true
	i.end()
	i.ejection.stop()
	if i.pool != nil {
		i.pool.close()
	}
	i.ways.Load().retire()
}
