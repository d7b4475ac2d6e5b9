package whittle

import "time"

// FleetStatus is a fleet as one of its gateways sees it.
type FleetStatus struct {
	Name string `json:"name"`
	// Member is the gateway that says this, Leader the one that decides; empty: nobody
	// does, as far as is known here.
	Member string `json:"member"`
	Leader string `json:"leader,omitempty"`
	// Connected says that this gateway hears of the fleet. CutOff is since when it does
	// not; zero: it does, or never has.
	Connected bool          `json:"connected"`
	CutOff    time.Time     `json:"cut_off_since,omitzero"`
	Members   []FleetMember `json:"members"`
	// Wrong is what somebody should look at, each one sentence. Empty: nothing is.
	Wrong []string `json:"wrong"`
}

// FleetMember is one gateway by its last report.
type FleetMember struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Leads   bool   `json:"leads,omitempty"`
	// Reported is when its last report was written, Silent how long ago that is in
	// seconds, and Alive that this is not too long.
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
	// Share is what users have there, and Generation that of the position it goes by. Lag
	// is how many generations others are ahead.
	Share      Share  `json:"share_bp"`
	Generation uint64 `json:"generation"`
	Lag        uint64 `json:"lag,omitempty"`
	// Config is the digest of its config for the route, and Other that it is not the one
	// that the fleet's position is about, so that it has no part in the route.
	Config string `json:"config"`
	Other  bool   `json:"other_config,omitempty"`
	// Trip is why its circuit breaker, or another one that it knows of, is open.
	Trip string `json:"trip,omitempty"`
	// Requests is how many it has had in this run.
	Requests int64 `json:"requests"`
}
