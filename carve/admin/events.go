package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"whittle"
)

const (
	// maxStreams bounds the pages that are live at once.
	maxStreams = 64
	// eventEvery is how often what changed is sent.
	eventEvery = time.Second
	// heartbeat is how long a stream is silent at most, so that both ends
	// notice a connection that is gone.
	heartbeat = 10 * time.Second
	// streamWrite bounds one write to a page.
	streamWrite = 10 * time.Second
	// retryAfter is how long browsers wait after a stream broke, in ms.
	retryAfter = 2000
)

// Update is the data of an event "status" of GET /api/v1/events. The first one
// of a stream, and each one after the config was loaded again, has every route;
// the others, Partial, have those that changed. To be small, a route in it has
// its findings without samples and the last decision of its time line only.
type Update struct {
	Version string         `json:"version"`
	At      time.Time      `json:"at"`
	Partial bool           `json:"partial"`
	Routes  []UpdatedRoute `json:"routes"`
	// Fleet is that of the gateway, where it has changed. Nil: it has not, or the gateway
	// is alone.
	Fleet *UpdatedFleet `json:"fleet,omitempty"`
}

// UpdatedFleet is a fleet in an update: of its gateways, those that need a look come
// first, and at most maxMembers are there.
type UpdatedFleet struct {
	whittle.FleetStatus
	// Gateways counts all of them.
	Gateways int `json:"gateways"`
}

// maxMembers bounds the gateways of an update.
const maxMembers = 50

func briefFleet(f *whittle.FleetStatus) *UpdatedFleet {
	u := &UpdatedFleet{FleetStatus: *f, Gateways: len(f.Members)}
	u.Members = slices.Clone(f.Members)
	slices.SortStableFunc(u.Members, func(a, b whittle.FleetMember) int { return needsLook(&b) - needsLook(&a) })
	u.Members = u.Members[:min(len(u.Members), maxMembers)]
	return u
}

func needsLook(m *whittle.FleetMember) int {
	if !m.Alive || !m.Connected || slices.ContainsFunc(m.Routes, func(r whittle.FleetMemberRoute) bool { return r.Lag > 0 || r.Other || r.Trip != "" }) {
		return 1
	}
	return 0
}

// UpdatedRoute is a route in an update.
type UpdatedRoute struct {
	whittle.RouteStatus
	Found Found `json:"found"`
}

// Found counts all of a route's findings.
type Found struct {
	Total int `json:"total"`
	// Shown are decided and not declared as intended, Intended declared.
	Shown    int `json:"shown"`
	Intended int `json:"intended"`
}

func count(all []whittle.Finding) Found {
	n := Found{Total: len(all)}
	for i := range all {
		switch {
		case all[i].Expected != "":
			n.Intended++
		case all[i].Decided:
			n.Shown++
		}
	}
	return n
}

// board is the latest picture of all routes, made at most once an eventEvery
// however many pages look.
type board struct {
	mu   sync.Mutex // guards the following
	at   time.Time
	last picture
}

// picture is what a page is shown.
type picture struct {
	routes []posted
	fleet  json.RawMessage // nil: there is none
}

// posted is a route as an update has it.
type posted struct {
	name    string
	encoded json.RawMessage
}

func (b *board) look(now time.Time, status func() []whittle.RouteStatus, fleet func() *whittle.FleetStatus) picture {
	b.mu.Lock()
	defer b.mu.Unlock()
	if since := now.Sub(b.at); b.last.routes != nil && since >= 0 && since < eventEvery*9/10 {
		return b.last
	}
	all := status()
	next := picture{routes: make([]posted, 0, len(all))}
	for i := range all {
		encoded, err := json.Marshal(brief(filled(all[i])))
		if err != nil {
			continue // a figure that is no number; GET status says so
		}
		next.routes = append(next.routes, posted{all[i].Route, encoded})
	}
	if fleet != nil {
		next.fleet, _ = json.Marshal(briefFleet(fleet())) // plain values
	}
	b.at, b.last = now, next
	return next
}

// brief leaves out what only a route's own page shows.
func brief(s whittle.RouteStatus) UpdatedRoute {
	const findings = 5
	found := count(s.Verdict.Findings)
	short := slices.Clone(s.Verdict.Findings[:min(len(s.Verdict.Findings), findings)])
	for i := range short {
		short[i].Samples = nil
	}
	s.Verdict.Findings, s.Verdict.Coverage = short, nil
	s.Timeline = s.Timeline[max(0, len(s.Timeline)-1):]
	return UpdatedRoute{s, found}
}

// events streams what changes until the page goes away, its session is over or
// whittle ends.
func (s *server) events(w http.ResponseWriter, r *http.Request) error {
	if s.streams.Add(1) > maxStreams {
		s.streams.Add(-1)
		return whittle.Errorf(whittle.ResourceExhausted, "%d dashboards are open already", maxStreams).WithHint("close one, or ask GET /api/v1/status")
	}
	defer s.streams.Add(-1)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	out := stream{w: w, control: http.NewResponseController(w)}
	if !out.send(fmt.Appendf(nil, "retry: %d\n\n", retryAfter)) {
		return nil
	}
	tick := time.NewTicker(eventEvery)
	defer tick.Stop()
	var last picture
	var idle time.Duration
	for {
		now := s.board.look(time.Now(), s.o.Controller.Status, s.o.Fleet)
		event, err := s.update(last, now)
		switch {
		case err != nil:
			return nil // the response has begun; the page asks again
		case event != nil:
			idle = 0
			if !out.send(event) {
				return nil
			}
		case idle >= heartbeat:
			idle = 0
			if !out.send([]byte(": still here\n\n")) {
				return nil
			}
		}
		last = now
		if s.roleOf(r) == Nobody {
			return nil // logged out, or too long ago
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-s.o.Ending:
			return nil
		case <-tick.C:
			idle += eventEvery
		}
	}
}

// update is the event that leads from one picture to the next; nil where
// nothing changed.
func (s *server) update(before, now picture) ([]byte, error) {
	partial := before.routes != nil && slices.EqualFunc(before.routes, now.routes, func(a, b posted) bool { return a.name == b.name })
	routes := make([]json.RawMessage, 0, len(now.routes))
	for i := range now.routes {
		if !partial || !bytes.Equal(before.routes[i].encoded, now.routes[i].encoded) {
			routes = append(routes, now.routes[i].encoded)
		}
	}
	fleet := now.fleet
	if partial && bytes.Equal(before.fleet, now.fleet) {
		fleet = nil
	}
	if partial && len(routes) == 0 && fleet == nil {
		return nil, nil
	}
	body, err := json.Marshal(struct {
		Version string            `json:"version"`
		At      time.Time         `json:"at"`
		Partial bool              `json:"partial"`
		Routes  []json.RawMessage `json:"routes"`
		Fleet   json.RawMessage   `json:"fleet,omitempty"`
	}{s.o.Version, time.Now().UTC(), partial, routes, fleet})
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "event: status\ndata: %s\n\n", body), nil
}

// stream writes events, each within its time.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// send reports whether the page still takes them.
func (s *stream) send(b []byte) bool {
	if err := s.control.SetWriteDeadline(time.Now().Add(streamWrite)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return false
	}
	if _, err := s.w.Write(b); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
