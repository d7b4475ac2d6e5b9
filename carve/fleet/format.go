package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"whittle"
)

// formatVersion is raised when a reader of the one before would misread what is
// written. A reader takes what is not above its own version.
const formatVersion = 1

// maxValue bounds what is read of the store, in bytes.
const maxValue = 1 << 20

// Entry is one key of the store as the watch shows it.
type Entry struct {
	Key      string
	Value    []byte
	Revision uint64
}

// Write is a key to be written.
type Write struct {
	Key   string
	Value []byte
	// Expect is the revision that the key must have, 0: it must not exist. Nil: it
	// may have any.
	Expect *uint64
	// Gone removes the key.
	Gone bool
}

// The kinds of keys.
const (
	kindPosition = "position"
	kindTrip     = "trip"
	kindMember   = "member"
	kindLease    = "lease"
	kindPermits  = "permits"
)

// Watched are the keys that a member watches, and Reports those that a leader watches
// as well.
func Watched(member string) []string {
	return []string{kindLease, kindPermits, kindPosition + ".>", kindTrip + ".>", memberKey(member)}
}

// Reports is the pattern of the members' reports.
const Reports = kindMember + ".>"

// RouteKey is a route's name as part of a key.
func RouteKey(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:8])
}

// memberKey has the name in hexadecimal, since names may hold what keys may not.
func memberKey(member string) string { return kindMember + "." + hex.EncodeToString([]byte(member)) }

func splitKey(key string) (kind, name string) {
	kind, name, _ = strings.Cut(key, ".")
	if kind == kindMember {
		b, _ := hex.DecodeString(name)
		name = string(b)
	}
	return kind, name
}

// decode reads a value of the store; version is where its version is read to. False:
// it is not what this program can read.
func decode(b []byte, into any, version *int) bool {
	return len(b) <= maxValue && json.Unmarshal(b, into) == nil && *version >= 1 && *version <= formatVersion
}

// Lease says who leads.
type Lease struct {
	Version int `json:"version"`
	// Term numbers the leaders, and N the renewals within a term.
	Term uint64 `json:"term"`
	N    uint64 `json:"n"`
	// Holder is empty where a leader has left.
	Holder string `json:"holder,omitempty"`
	Run    uint64 `json:"run,omitempty"`
}

// Position is what the leader has decided for a route.
type Position struct {
	Version int    `json:"version"`
	Route   string `json:"route"`
	// Generation rises with every position of the route, over leaders too.
	Generation uint64 `json:"generation"`
	// Zero is the generation of the last decision for a share of 0 that the leader
	// knew of.
	Zero  uint64        `json:"zero"`
	Share whittle.Share `json:"share_bp"`
	Phase whittle.Phase `json:"phase"`
	// Term is the leader's, and Digest its config's for the route.
	Term   uint64 `json:"term"`
	Leader string `json:"leader"`
	Digest string `json:"digest"`
}

// Trip says that a gateway's circuit breaker has opened under a generation. It needs no
// leader: every gateway that sees it has a share of 0, until a position shows by its
// Zero that the trip is known.
type Trip struct {
	Version    int    `json:"version"`
	Generation uint64 `json:"generation"`
	Reason     string `json:"reason"`
	Member     string `json:"member"`
}

// Report is what a gateway says of itself. It has totals, and so may be lost, come
// twice or late.
type Report struct {
	Version int    `json:"version"`
	Member  string `json:"member"`
	Run     uint64 `json:"run"`
	Seq     uint64 `json:"seq"`
	// At is when the report was made, by the gateway's clock.
	At time.Time `json:"at,omitzero"`
	// Program is the version of the program.
	Program   string `json:"program"`
	Connected bool   `json:"connected"`
	// Routes are by RouteKey.
	Routes map[string]RouteReport `json:"routes"`
}

// RouteReport is a gateway's view of a route.
type RouteReport struct {
	Digest string `json:"digest"`
	// Generation, Zero and Share are of the last position that was taken, Trip of the
	// last trip that is known.
	Generation uint64        `json:"generation"`
	Zero       uint64        `json:"zero"`
	Share      whittle.Share `json:"share_bp"`
	Trip       uint64        `json:"trip,omitempty"`
	Reason     string        `json:"reason,omitempty"`
	// InForce is the share that users have here; it is 0 where the gateway is cut off
	// or has another config.
	InForce whittle.Share  `json:"in_force_bp"`
	Counts  whittle.Counts `json:"counts"`
	// Before is the last that is known of the gateway's run before this one: nobody may
	// have read its last report before this run's first took its place.
	Before whittle.Counts `json:"before,omitzero"`
	// Earlier are those of the runs before that one, which nobody may have read either.
	Earlier []whittle.Counts `json:"earlier,omitempty"`
}

// Permits are how many users' requests may be exposed at each gateway.
type Permits struct {
	Version int    `json:"version"`
	Term    uint64 `json:"term"`
	// Limits are by candidate.
	Limits map[string]int `json:"limits"`
}

// Seat is a gateway as the leader sees it.
type Seat struct {
	Report Report
	// Silent is since when nothing came, and Alive that this is not too long.
	Silent time.Duration
	Alive  bool

	seen     Instant
	revision uint64
}
