package gateway

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"whittle"
)

// maxPeers bounds the peers that are remembered.
const maxPeers = 64

// proxyWatch finds proxies that the config does not name: peers with a loopback or private
// address that say who their own clients are, and are not believed. Of others, whoever likes
// may send such a field. The zero value is ready.
type proxyWatch struct {
	mu       sync.Mutex       // guards the following
	requests map[string]int64 // that each has forwarded, by peer
}

// see takes a request that was forwarded by peer, and reports once that peer is a proxy.
func (w *proxyWatch) see(peer string) (isProxy bool) {
	ip, err := netip.ParseAddr(strings.Trim(peer, "[]"))
	if ip = ip.Unmap(); err != nil || !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast() {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requests == nil {
		w.requests = map[string]int64{}
	}
	if w.requests[peer] == 0 {
		if len(w.requests) >= maxPeers {
			return false
		}
		peer = strings.Clone(peer)
	}
	w.requests[peer]++
	return w.requests[peer] == 1
}

// remarks are of the proxies that were found.
func (w *proxyWatch) remarks() (all []whittle.Remark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, peer := range slices.Sorted(maps.Keys(w.requests)) {
		all = append(all, whittle.Remark{Count: w.requests[peer], Text: proxyWords(peer)})
	}
	return all
}

// proxyWords says what comes of a proxy that is not trusted, and the line that mends it.
func proxyWords(peer string) string {
	peer = strings.Trim(peer, "[]")
	if strings.Contains(peer, ":") {
		peer = `"` + peer + `"` // as YAML wants it
	}
	return fmt.Sprintf("%s says who its clients are and is not believed: they all count as one address, and the monolith is told that they came by whittle's own scheme and host;"+
		" if it is your proxy, write forwarded: {trust: [%[1]s]}", peer)
}

// seeProxy takes a request that an untrusted peer says to be another's, and logs once for
// each peer what comes of that.
func (g *Gateway) seeProxy(peer string) {
	if g.proxies.see(peer) {
		g.log.Warn("a proxy is not trusted: "+proxyWords(peer), "peer", peer)
	}
}
