package simtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"whittle/carve/fleet"
)

// store is a replicated log of keys. Its revisions are reused where it loses its last
// writes, as a log's sequence numbers are.
type store struct {
	w    *world
	up   bool
	log  []fleet.Entry
	kv   map[string]fleet.Entry
	down time.Duration // until then
	// stream is the evidence: what is judged, in this order.
	stream []exchange
}

// exchange is one message of evidence.
type exchange struct {
	id      int
	route   *truth
	gateway string
	run     uint64
	digest  string
}

func (s *store) last() uint64 {
	if len(s.log) == 0 {
		return 0
	}
	return s.log[len(s.log)-1].Revision
}

// put writes a key, where its condition holds.
func (s *store) put(write *fleet.Write) bool {
	if !s.up || write.Expect != nil && s.kv[write.Key].Revision != *write.Expect {
		return false
	}
	e := fleet.Entry{Key: write.Key, Value: write.Value, Revision: s.last() + 1}
	s.log = append(s.log, e)
	s.w.written(s.kv[e.Key], e, len(s.log)-1)
	s.kv[e.Key] = e
	for _, g := range s.w.gateways {
		g.watch(e)
	}
	return true
}

// snapshot is what a new watch shows first. It may be of a replica that lags.
func (s *store) snapshot(stale int) (all []fleet.Entry, next int) {
	next = max(0, len(s.log)-stale)
	kv := map[string]fleet.Entry{}
	for _, e := range s.log[:next] {
		kv[e.Key] = e
	}
	return slices.SortedFunc(maps.Values(kv), func(a, b fleet.Entry) int { return cmp.Compare(a.Revision, b.Revision) }), next
}

func (s *store) outage(d time.Duration) {
	s.up = false
	s.down = s.w.now + d
	s.w.after(d, func() {
		if s.w.now >= s.down {
			s.up = true
		}
	})
}

func (s *store) heal() {
	s.up = true
	for _, g := range s.w.gateways {
		g.resync()
	}
}

// lose takes back the last writes, and breaks every watch.
func (s *store) lose(n int) {
	s.log = s.log[:max(0, len(s.log)-n)]
	s.kv = map[string]fleet.Entry{}
	for _, e := range s.log {
		s.kv[e.Key] = e
	}
	s.stream = s.stream[:max(0, len(s.stream)-s.w.rng.IntN(5))]
	s.w.lost(len(s.log))
	for _, g := range s.w.gateways {
		g.resync()
	}
}

func positionOf(e fleet.Entry) (p fleet.Position, ok bool) {
	return p, strings.HasPrefix(e.Key, "position.") && json.Unmarshal(e.Value, &p) == nil
}
