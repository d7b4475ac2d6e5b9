package fleet

import (
	"encoding/json"
	"time"

	"whittle"
)

// handed is what a process gives the one that replaces it. That one is the same run of the
// gateway, at the same place: it goes by what was known, for as long as that holds, and
// has the permits.
type handed struct {
	Version int    `json:"version"`
	Member  string `json:"member"`
	// Fleet is empty where a version has handed over that did not say so.
	Fleet string `json:"fleet,omitempty"`
	Kept  []byte `json:"kept"`
	Run   uint64 `json:"run"`
	Seq   uint64 `json:"seq"`
	// Connected says that the last report that has come back was sent Heard ago.
	Connected bool            `json:"connected"`
	Heard     time.Duration   `json:"heard"`
	Grants    Grants          `json:"grants"`
	Gates     map[string]gate `json:"gates"`
	// Digests are those of the routes' configs, by RouteKey.
	Digests map[string]string `json:"digests"`
	// Replaced are the last reports of those that it has replaced itself, likewise.
	Replaced map[string][]whittle.Counts `json:"replaced,omitempty"`
}

// Handed is what a process has handed over, for who takes its place.
type Handed struct{ of handed }

// Is reports whether it is the place of a fleet's member.
func (h Handed) Is(fleet, member string) bool {
	return h.of.Member == member && (h.of.Fleet == fleet || h.of.Fleet == "")
}

// Digest is that of a route's config there. Empty: it had no such route.
func (h Handed) Digest(route string) string { return h.of.Digests[RouteKey(route)] }

// Replaced are the last reports of gateways that it had replaced itself.
func (h Handed) Replaced(route string) []whittle.Counts { return h.of.Replaced[RouteKey(route)] }

// ReadHanded reads what Node.HandOver gave. False: it is not what this program can read.
func ReadHanded(b []byte) (Handed, bool) {
	var h handed
	if !decode(b, &h, &h.Version) {
		return Handed{}, false
	}
	return Handed{h}, true
}

// Aged is what was handed over some time ago.
func Aged(b []byte, passed time.Duration) []byte {
	var h handed
	if !decode(b, &h, &h.Version) {
		return nil
	}
	h.Heard += passed
	b, _ = json.Marshal(h) // plain values
	return b
}

// HandOver is what another process of this gateway goes on with. This node is not used
// any more.
func (n *Node) HandOver(now Instant) []byte {
	n.advance(now)
	h := handed{
		Version: formatVersion, Member: n.c.Member, Fleet: n.c.Fleet, Kept: n.Kept(), Run: n.c.Run, Seq: n.seq, Connected: n.connected(),
		Heard: n.now.since(n.heard), Grants: n.grants, Gates: map[string]gate{}, Digests: map[string]string{}, Replaced: map[string][]whittle.Counts{},
	}
	for key, r := range n.routes {
		h.Gates[key], h.Digests[key] = r.gate, r.spec.Digest
		if n.c.Replaced != nil {
			h.Replaced[key] = n.c.Replaced(r.spec.Name)
		}
	}
	b, _ := json.Marshal(h) // plain values
	return b
}

// takeOver goes on where another process has stopped. The time since it was asked counts
// as time in which nothing was heard.
func (n *Node) takeOver(b []byte) {
	var h handed
	if !decode(b, &h, &h.Version) || h.Member != n.c.Member {
		return
	}
	n.restore(h.Kept)
	n.handed = true
	n.c.Run, n.seq, n.grants = h.Run, h.Seq, h.Grants
	heard := h.Heard + n.raw.since(n.c.Asked)
	n.everSeen = h.Connected && heard < n.c.Lease
	n.heard = Instant{Mono: n.now.Mono - heard, Wall: n.now.Wall - heard}
	n.restarting = true // the watch has yet to show what the store has
	for key, r := range n.routes {
		if g, ok := h.Gates[key]; ok {
			r.gate = g
		}
	}
}
