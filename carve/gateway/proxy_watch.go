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

const (
	// manyForwarded is how many requests, with several clients' addresses, make a peer
	// elsewhere count as a proxy: whoever likes may send such a field once.
	manyForwarded = 100
	// maxPeers bounds the peers that are remembered.
	maxPeers = 64
)

// proxyWatch finds proxies that the config does not name: peers that say who their own
// clients are, and are not believed. One with a loopback or private address is taken for a
// proxy at once. The zero value is ready.
type proxyWatch struct {
	mu    sync.Mutex // guards the following
	peers map[string]*forwarding
}

// forwarding is what a peer has forwarded.
type forwarding struct {
	claim    string // the first
	several  bool   // there was another one
	near     bool   // its address is loopback or private
	requests int64
	said     bool // that it is a proxy
}

// see takes a request that was forwarded by peer, and reports once that peer is a proxy.
func (w *proxyWatch) see(peer, claim string) (isProxy bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.peers[peer]
	if f == nil {
		if f = w.add(peer, claim); f == nil {
			return false
		}
	}
	f.requests++
	f.several = f.several || claim != f.claim
	if f.said || !f.near && (!f.several || f.requests < manyForwarded) {
		return false
	}
	f.said = true
	return true
}

// add takes in one more peer, for which any that is no proxy makes room; nil: there is none.
// The caller holds mu.
func (w *proxyWatch) add(peer, claim string) *forwarding {
	ip, err := netip.ParseAddr(strings.Trim(peer, "[]"))
	ip = ip.Unmap()
	f := &forwarding{claim: strings.Clone(claim), near: err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast())}
	if w.peers == nil {
		w.peers = map[string]*forwarding{}
	}
	for name, other := range w.peers {
		if len(w.peers) < maxPeers {
			break
		}
		if !other.said {
			delete(w.peers, name)
		}
	}
	if len(w.peers) >= maxPeers {
		return nil
	}
	w.peers[strings.Clone(peer)] = f
	return f
}

// remarks are of the proxies that were found.
func (w *proxyWatch) remarks() (all []whittle.Remark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, peer := range slices.Sorted(maps.Keys(w.peers)) {
		if f := w.peers[peer]; f.said {
			all = append(all, whittle.Remark{Count: f.requests, Text: proxyWords(peer)})
		}
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
func (g *Gateway) seeProxy(peer, claim string) {
	if g.proxies.see(peer, claim) {
		g.log.Warn("a proxy is not trusted: "+proxyWords(peer), "peer", peer)
	}
}
