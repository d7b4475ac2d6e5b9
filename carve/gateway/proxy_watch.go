package gateway

import (
	"log/slog"
	"sync"
	"sync/atomic"

	"whittle/carve/gateway/inbound"
)

// manyForwarded is how many requests with a forwarded client address make an untrusted
// peer count as a proxy.
const manyForwarded = 100

// proxyWatch detects that users come through a proxy that the config does not name. It
// follows the peer of most such requests (Boyer and Moore's majority vote), so it
// stores one address however many there are. The zero value is ready.
type proxyWatch struct {
	warned atomic.Bool

	mu sync.Mutex // guards the following
	// peer is followed; claim is the first client address that it forwarded, and several
	// says that it has forwarded another one.
	peer, claim string
	count       int
	several     bool
}

// see takes a request that was forwarded by peer, and reports once that peer is
// a proxy.
func (w *proxyWatch) see(peer, claim string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if peer != w.peer {
		if w.count--; w.count <= 0 {
			w.peer, w.claim, w.count, w.several = peer, claim, 1, false
		}
		return false
	}
	w.several = w.several || claim != w.claim
	w.count = min(w.count+1, manyForwarded)
	return w.count == manyForwarded && w.several && w.warned.CompareAndSwap(false, true)
}

// warnProxy logs once that there is an untrusted proxy, if users are distinguished by
// their address: all users behind that proxy count as one.
func (g *Gateway) warnProxy(q *inbound.Request, route string) {
	if q.Trusted || g.proxies.warned.Load() {
		return
	}
	claims := q.Header["X-Forwarded-For"]
	if claims == nil {
		claims = q.Header["Forwarded"]
	}
	if claims == nil {
		return
	}
	if g.proxies.see(q.Peer, claims[0]) {
		g.log.Warn("users are distinguished by their address, and many come from one that forwards for others: they all count as one user; if it is your proxy, name it under forwarded.trust, or let sticky_by name a header or a cookie",
			slog.String("route", route), slog.String("peer", q.Peer))
	}
}
