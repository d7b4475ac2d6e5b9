// Package quota bounds what one client may take: how much it has at once, and how often
// it comes. What it remembers is bounded, however many clients there are.
package quota

import (
	"hash/maphash"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// Key stands for a client, in this process alone.
type Key uint64

var seed = maphash.MakeSeed()

// OfAddress is the key of an address, with or without brackets. Whoever has one address
// of IPv6 has all of its /64.
func OfAddress(address string) Key {
	ip, err := netip.ParseAddr(strings.Trim(address, "[]"))
	if err != nil {
		return OfName(address)
	}
	return OfIP(ip)
}

// OfIP is OfAddress for an address that has been read.
func OfIP(ip netip.Addr) Key {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		network := ip.As16()
		clear(network[8:])
		ip = netip.AddrFrom16(network)
	}
	return Key(maphash.Comparable(seed, ip))
}

// OfName is the key of what a client calls itself.
func OfName(name string) Key { return Key(maphash.String(seed, name)) }

// shards keeps clients from waiting for each other's lock.
const shards = 16

// Count counts what each client has at once. Its memory is as large as what is counted.
// It is safe for concurrent use, and the zero value is ready.
type Count struct {
	shards [shards]struct {
		mu sync.Mutex
		n  map[Key]int
	}
}

// Enter counts one more, unless the client has limit already.
func (c *Count) Enter(k Key, limit int) bool {
	s := &c.shards[k%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n[k] >= limit {
		return false
	}
	if s.n == nil {
		s.n = map[Key]int{}
	}
	s.n[k]++
	return true
}

// Leave takes back what Enter counted.
func (c *Count) Leave(k Key) {
	s := &c.shards[k%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n[k]--; s.n[k] == 0 {
		delete(s.n, k)
	}
}

// maxClients is how many clients a Rate remembers, per shard. To forget one gives it a
// full bucket.
const maxClients = 8 << 10

// Rate is a token bucket for each client. It is safe for concurrent use.
type Rate struct {
	// every is the time in which a token comes; deep, in which a bucket fills.
	every, deep time.Duration
	shards      [shards]struct {
		mu sync.Mutex
		// full says when a client's bucket is full again (GCRA). It is full where it
		// is not there.
		full map[Key]time.Time
	}
}

// NewRate makes buckets of burst tokens, into which perSecond come.
func NewRate(perSecond float64, burst int) *Rate {
	every := time.Duration(float64(time.Second) / perSecond)
	return &Rate{every: every, deep: time.Duration(burst) * every}
}

// Take takes a token. Where there is none it says when there will be one.
func (r *Rate) Take(k Key, now time.Time) (wait time.Duration, ok bool) {
	s := &r.shards[k%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	full := s.full[k]
	if full.Before(now) {
		full = now
	}
	if wait := full.Add(r.every).Sub(now) - r.deep; wait > 0 {
		return wait, false
	}
	if s.full == nil {
		s.full = map[Key]time.Time{}
	}
	if len(s.full) >= maxClients {
		r.forget(s.full, now)
	}
	s.full[k] = full.Add(r.every)
	return 0, true
}

// Give takes back a token that was taken.
func (r *Rate) Give(k Key) {
	s := &r.shards[k%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if full, there := s.full[k]; there {
		s.full[k] = full.Add(-r.every)
	}
}

// forget makes room: of a few clients, those whose buckets are full, and one in any
// case.
func (r *Rate) forget(full map[Key]time.Time, now time.Time) {
	looked := 0
	for k, at := range full {
		if looked == 0 || at.Before(now) {
			delete(full, k)
		}
		if looked++; looked == 8 {
			return
		}
	}
}
