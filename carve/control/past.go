package control

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"whittle"
)

const (
	// maxPast bounds the points of each series. When it is full, every second point is
	// dropped and the spacing doubles, so the whole past stays visible.
	maxPast = 120
	// evidenceEvery and trafficEvery are the finest spacings.
	evidenceEvery = time.Second
	trafficEvery  = 5 * time.Second
)

// past is a route's history for plots. The evidence's part is saved with the route's
// record; the traffic's part is of this process only.
type past struct {
	evidence thinned[whittle.EvidencePoint]
	traffic  thinned[whittle.TrafficPoint]
}

// thinned is a bounded series, oldest first.
type thinned[P any] struct {
	Every  time.Duration `json:"every"`
	Points []P           `json:"points"`
}

// due says whether a point at now would be far enough from the last one.
func (t *thinned[P]) due(now time.Time, finest time.Duration, at func(P) time.Time) bool {
	t.Every = max(t.Every, finest)
	n := len(t.Points)
	if n == 0 {
		return true
	}
	since := now.Sub(at(t.Points[n-1]))
	return since >= t.Every || since < 0
}

func (t *thinned[P]) add(p P) {
	t.Points = append(t.Points, p)
	if len(t.Points) <= maxPast {
		return
	}
	kept := make([]P, 0, maxPast)
	for i, q := range t.Points {
		if i%2 == 0 {
			kept = append(kept, q)
		}
	}
	t.Points, t.Every = kept, t.Every*2
}

func evidenceAt(p whittle.EvidencePoint) time.Time { return p.At }
func trafficAt(p whittle.TrafficPoint) time.Time   { return p.At }

// remember adds what is known now, where it is time to.
func (r *route) remember() {
	r.ev.mu.Lock()
	defer r.ev.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.c.o.Now()
	if r.past.evidence.due(now, evidenceEvery, evidenceAt) {
		v := r.ev.shown()
		n := len(r.past.evidence.Points)
		if v.Compared > 0 && (n == 0 || r.past.evidence.Points[n-1].Compared != v.Compared) {
			r.past.evidence.add(evidencePoint(v, now))
		}
	}
	if r.past.traffic.due(now, trafficEvery, trafficAt) {
		p := whittle.TrafficPoint{
			At: now, Share: r.st.Share,
			Monolith: r.pace.shown(whittle.Monolith, now), Candidate: r.pace.shown(whittle.Candidate, now),
		}
		n := len(r.past.traffic.Points)
		if idle := (whittle.Traffic{}); n > 0 || p.Monolith != idle || p.Candidate != idle {
			r.past.traffic.add(p)
		}
	}
}

func evidencePoint(v whittle.Verdict, now time.Time) whittle.EvidencePoint {
	p := whittle.EvidencePoint{At: now, State: v.State, Compared: v.Compared, Bounds: make([]whittle.BoundPoint, len(v.Bounds))}
	for i, b := range v.Bounds {
		p.Bounds[i] = whittle.BoundPoint{ID: b.ID, What: b.What, Estimate: b.Estimate, Low: b.Low, High: b.High}
	}
	return p
}

// identify gives each bound a unique ID: its own or, without one, its name and a
// number among those of that name.
func identify(bounds []whittle.Bound) {
	taken := make(map[string]bool, len(bounds))
	for i := range bounds {
		id := cmp.Or(bounds[i].ID, bounds[i].What)
		for n := 2; taken[id]; n++ {
			id = cmp.Or(bounds[i].ID, bounds[i].What) + " " + strconv.Itoa(n)
		}
		bounds[i].ID, taken[id] = id, true
	}
}

// Past shows how one route came to where it is. An unknown one is a
// *whittle.Error with NotFound.
func (c *Controller) Past(name string) (whittle.Past, error) {
	r := c.find(name)
	if r == nil {
		return whittle.Past{}, unknown(name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return whittle.Past{
		Route:    name,
		Evidence: slices.Clone(r.past.evidence.Points),
		Traffic:  slices.Clone(r.past.traffic.Points),
	}, nil
}
