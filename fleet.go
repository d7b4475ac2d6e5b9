package whittle

import "time"

// FleetStatus is a fleet as one of its gateways sees it.
type FleetStatus struct {
	Name string `json:"name"`
	// Member is the gateway that reports this, Leader the one that decides. Empty: this
	// gateway knows of no leader.
	Member string `json:"member"`
	Leader string `json:"leader,omitempty"`
	// Connected says that this gateway hears from the fleet. CutOff is when that ended.
	// Zero: it is connected, or never was.
	Connected bool          `json:"connected"`
	CutOff    time.Time     `json:"cut_off_since,omitzero"`
	Members   []FleetMember `json:"members"`
	// Wrong lists problems, each in one sentence.
	Wrong []string `json:"wrong"`
}

// FleetMember is one gateway by its last report.
type FleetMember struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Leads   bool   `json:"leads,omitempty"`
	// Reported is when its last report was written, Silent how many seconds ago that is.
	// Alive says that this is within the lease.
	Reported time.Time `json:"reported"`
	Silent   float64   `json:"silent_s"`
	Alive    bool      `json:"alive"`
	// Connected is what it said of itself.
	Connected bool               `json:"connected"`
	Routes    []FleetMemberRoute `json:"routes"`
}

// FleetMemberRoute is a route in one gateway.
type FleetMemberRoute struct {
	Route string `json:"route"`
	// Share is the share in force there, Generation that of its position. Lag is how many
	// generations the fleet is ahead.
	Share      Share  `json:"share_bp"`
	Generation uint64 `json:"generation"`
	Lag        uint64 `json:"lag,omitempty"`
	// Config is the digest of its config for the route. Other says that the fleet's
	// position is about another config, so the gateway takes no part in the route.
	Config string `json:"config"`
	Other  bool   `json:"other_config,omitempty"`
	// Trip is why its circuit breaker, or another one that it knows of, is open.
	Trip string `json:"trip,omitempty"`
	// Requests is how many requests of the route it has served in this run.
	Requests int64 `json:"requests"`
}
