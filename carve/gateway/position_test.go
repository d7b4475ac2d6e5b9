package gateway

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"whittle"
	"whittle/carve/gateway/inbound"
	"whittle/internal/fatal"
)

// TestPositions: of two positions the later one is in force, whatever the order in
// which they arrive, and a trip is undone by no position that was decided before it
// was known.
func TestPositions(t *testing.T) {
	shift := func(generation uint64, share whittle.Share) whittle.Position {
		return whittle.Position{Generation: generation, Share: share, Phase: whittle.PhaseShift}
	}
	// known is a rise of whoever knows of the trips before zero, back a rollback, and
	// frozen a pause of a shift.
	known := func(generation, zero uint64, share whittle.Share) whittle.Position {
		return whittle.Position{Generation: generation, Zero: zero, Share: share, Phase: whittle.PhaseShift}
	}
	back := func(generation uint64) whittle.Position {
		return whittle.Position{Generation: generation, Zero: generation, Phase: whittle.PhaseRolledBack}
	}
	frozen := func(generation uint64) whittle.Position {
		return whittle.Position{Generation: generation, Phase: whittle.PhaseShadow}
	}
	type step struct {
		position whittle.Position // of Apply, or
		trips    uint64           // the generation under which the breaker trips
		takes    bool
		share    whittle.Share
	}
	for name, steps := range map[string][]step{
		"in order":          {{position: shift(1, 100), takes: true, share: 100}, {position: shift(2, 500), takes: true, share: 500}, {position: back(3), takes: true}},
		"a late rise":       {{position: shift(1, 100), takes: true, share: 100}, {position: back(3), takes: true}, {position: shift(2, 500)}},
		"a late fall":       {{position: shift(1, 100), takes: true, share: 100}, {position: shift(3, 500), takes: true, share: 500}, {position: back(2), share: 500}},
		"twice":             {{position: shift(1, 100), takes: true, share: 100}, {position: shift(1, 100), takes: true, share: 100}},
		"another of one":    {{position: shift(1, 100), takes: true, share: 100}, {position: shift(1, 500), share: 100}},
		"none":              {{position: shift(0, 100)}},
		"too much":          {{position: shift(1, 20000), takes: true, share: whittle.All}},
		"a share while off": {{position: whittle.Position{Generation: 1, Share: 100, Phase: whittle.PhaseOff}, takes: true}},
		"a rise over a trip": {
			{position: shift(1, 100), takes: true, share: 100},
			{trips: 1},
			{position: shift(2, 500)},
			{position: shift(1, 100)},
			{position: back(3), takes: true},
			{position: shift(4, 100), takes: true, share: 100},
		},
		"a rise that is stale and one over a trip": {
			{position: shift(3, 100), takes: true, share: 100}, {trips: 3}, {position: back(2)}, {position: shift(4, 100)},
		},
		"a trip after the fall": {
			{position: shift(1, 100), takes: true, share: 100},
			{position: back(2), takes: true},
			{trips: 1},
			{position: shift(3, 500), takes: true, share: 500},
			{trips: 1, share: 500},
			{trips: 3},
		},
		"a pause over a trip": {
			{position: shift(1, 100), takes: true, share: 100},
			{trips: 1},
			{position: frozen(2), takes: true},
			{position: shift(3, 100)},
			{position: known(5, 4, 100), takes: true, share: 100}, // its rollback was missed
		},
		"a trip under the step before": {
			{position: shift(1, 100), takes: true, share: 100}, {position: shift(2, 500), takes: true, share: 500}, {trips: 1}, {position: shift(3, 500)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var trips []uint64
			s := newRouteState("/x", func(_, _ string, generation uint64) { trips = append(trips, generation) })
			var want []uint64
			for i, step := range steps {
				if step.trips > 0 {
					before := s.counts.trips.Load()
					s.trip("broken", step.trips)
					s.notices.Wait()
					if s.counts.trips.Load() > before {
						want = append(want, step.trips)
					}
				} else if got := s.apply(step.position); got != step.takes {
					t.Errorf("step %d: %+v in force: %v", i, step.position, got)
				}
				fatal.Same(t, s.setting.Load().share, step.share, "step %d: share", i)
			}
			if !slices.Equal(trips, want) {
				t.Errorf("reported trips under %v, want %v", trips, want)
			}
		})
	}
}

// TestAClosedRouteTellsNobody: close waits for what has begun to tell of a trip, so nothing
// may begin meanwhile. The race detector sees who does not wait.
func TestAClosedRouteTellsNobody(t *testing.T) {
	for range 200 {
		var notices atomic.Int32
		s := newRouteState("/x", func(string, string, uint64) { notices.Add(1) })
		s.claim()
		s.apply(whittle.Position{Generation: 1, Phase: whittle.PhaseShift, Share: whittle.All})
		tripping := make(chan struct{})
		go func() {
			defer close(tripping)
			s.trip("broken", 1)
		}()
		fatal.If(t, s.close(t.Context()))
		before := notices.Load()
		<-tripping
		if after := notices.Load(); after != before {
			t.Fatal("a trip was told of after the route was closed")
		}
	}
}

// TestAGroupSharesDrawAndShare: whatever the shares of two routes of a group, each user is on
// one side for both, by the lesser of them; a fall of the one takes the users of the other
// back; and what holds a route up is said.
func TestAGroupSharesDrawAndShare(t *testing.T) {
	m, c := serving(t, says(200, "monolith")), serving(t, says(200, "candidate"))
	o := Options{Monolith: upstreamAt(m)}
	for _, name := range []string{"/page", "/assets"} {
		spec := everything()
		candidate := upstreamAt(c)
		spec.Name, spec.Match.Pattern, spec.Mirror.Sample, spec.Group, spec.Candidate = name, name, 0, "shop", &candidate
		spec.Rollout.Sticky = whittle.Sticky{By: "header", Name: "X-User"}
		o.Routes = append(o.Routes, spec)
	}
	g, url := running(t, o)
	const users = 200
	for i, at := range []struct {
		page, assets whittle.Share
		least, most  int // users on the candidate
	}{{5000, 5000, 70, 130}, {whittle.All, 1000, 5, 40}, {5000, whittle.All, 70, 130}, {whittle.All, whittle.All, users, users}, {0, whittle.All, 0, 0}} {
		for name, share := range map[string]whittle.Share{"/page": at.page, "/assets": at.assets} {
			if !g.Apply(name, whittle.Position{Generation: uint64(i) + 1, Share: share, Phase: whittle.PhaseShift}) {
				t.Fatal("not in force")
			}
		}
		on := 0
		for user := range users {
			_, page := ask(t, http.MethodGet, url+"/page", "", "X-User", fmt.Sprint(user))
			_, assets := ask(t, http.MethodGet, url+"/assets", "", "X-User", fmt.Sprint(user))
			if page != assets {
				t.Fatalf("%+v: user %d has the page of the %s and the assets of the %s", at, user, page, assets)
			}
			if page == "candidate" {
				on++
			}
		}
		if on < at.least || on > at.most {
			t.Errorf("%+v: %d users are on the candidate", at, on)
		}
	}
	fatal.Has(t, fmt.Sprint(g.Remarks()), "the least share of the routes of group shop counts for all; it is that of /page now, 0 %")
}

func request(remote string, header ...string) *http.Request {
	r := &http.Request{Method: "GET", RemoteAddr: remote, Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// TestPlaceReadsTheKey: who a user is. A trusted proxy's users are split as if they came directly,
// and those of another one are one user.
func TestPlaceReadsTheKey(t *testing.T) {
	trusting := inbound.Reader{Trusted: proxyNets}
	byUser := newSplit("GET /a", whittle.Sticky{By: "header", Name: "x-user"})
	byCookie := newSplit("GET /a", whittle.Sticky{By: "cookie", Name: "sid"})
	byAddress := newSplit("GET /a", whittle.Sticky{By: "address"})
	const forwarded = "X-Forwarded-For"
	tests := []struct {
		name  string
		s     split
		a, b  *http.Request
		same  bool
		keyed bool
	}{
		{"one user from two places", byUser, request("10.0.0.1:1", "X-User", "ann"), request("10.0.0.2:9", "X-User", "ann"), true, true},
		{"two users from one place", byUser, request("10.0.0.1:1", "X-User", "ann"), request("10.0.0.1:1", "X-User", "bob"), false, true},
		{"no header: by address", byUser, request("10.0.0.1:1"), request("10.0.0.1:2"), true, false},
		{"empty header: by address", byUser, request("10.0.0.1:1", "X-User", ""), request("10.0.0.2:1", "X-User", ""), false, false},
		{"cookie among others", byCookie, request("10.0.0.1:1", "Cookie", "a=1; sid=7; b=2"), request("10.0.0.2:1", "Cookie", `sid="7"`), true, true},
		{"cookie in a second line", byCookie, request("10.0.0.1:1", "Cookie", "a=1", "Cookie", "sid=7"), request("10.0.0.2:1", "Cookie", "sid=7"), true, true},
		{"cookie whose name only ends alike", byCookie, request("10.0.0.1:1", "Cookie", "xsid=7"), request("10.0.0.1:8", "Cookie", "xsid=8"), true, false},
		{"cookie that the first response gives", byCookie, request("10.0.0.1:1"), request("10.0.0.1:1", "Cookie", "sid=7"), false, false},
		{"cookie that the first response gives, by address", byAddress, request("10.0.0.1:1"), request("10.0.0.1:2", "Cookie", "sid=7"), true, true},
		{"address of IPv6", byAddress, request("[::1]:80"), request("[::1]:81"), true, true},
		{"two addresses", byAddress, request("[::1]:80"), request("[::2]:80"), false, true},
		{"two users of a trusted proxy", byAddress, request("10.0.0.1:1", forwarded, "198.51.100.1"), request("10.0.0.1:1", forwarded, "198.51.100.2"), false, true},
		{"by a trusted proxy and directly", byAddress, request("10.0.0.1:1", forwarded, "198.51.100.1"), request("198.51.100.1:1"), true, true},
		{"likewise without the header", byUser, request("10.0.0.1:1", forwarded, "198.51.100.1"), request("198.51.100.1:1"), true, false},
		{"two users of another proxy", byAddress, request("192.0.2.1:1", forwarded, "198.51.100.1"), request("192.0.2.1:1", forwarded, "198.51.100.2"), true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, keyed := placeAt(&trusting, &tt.s, tt.a)
			b, _ := placeAt(&trusting, &tt.s, tt.b)
			if (a == b) != tt.same || keyed != tt.keyed {
				t.Errorf("same place: %v, want %v; keyed: %v, want %v", a == b, tt.same, keyed, tt.keyed)
			}
		})
	}
}

// TestShareGrowsWithoutFlips: a share has its part of the users, who stay when it grows. Which
// users are sampled, and on which side they are for another route, has nothing to do with it.
func TestShareGrowsWithoutFlips(t *testing.T) {
	s := newSplit("GET /a", whittle.Sticky{By: "header", Name: "X-User"})
	b := newSplit("GET /b", whittle.Sticky{By: "header", Name: "X-User"})
	shares := []whittle.Share{0, 1, 100, 500, 2500, 5000, 9999, whittle.All}
	const users = 50_000
	counts := make([]int, len(shares))
	var sampled, other int
	for u := range users {
		r := request("", "X-User", fmt.Sprintf("user-%d", u))
		p, _ := placeAt(&inbound.Reader{}, &s, r)
		was := false
		for i, share := range shares {
			in := p.in(share, forShare)
			if was && !in {
				t.Fatalf("user %d left the candidate when the share rose to %d", u, share)
			}
			if was = in; in {
				counts[i]++
			}
		}
		if !p.in(5000, forShare) {
			continue
		}
		if p.in(5000, forSample) {
			sampled++
		}
		if q, _ := placeAt(&inbound.Reader{}, &b, r); q.in(5000, forShare) {
			other++
		}
	}
	is := func(name string, n int, want float64) {
		got := float64(n) / users
		if sd := math.Sqrt(want * (1 - want) / users); math.Abs(got-want) > 5*sd {
			t.Errorf("%s: %.4f of the users, want %.4f", name, got, want)
		}
	}
	for i, share := range shares {
		is(fmt.Sprint("share ", share), counts[i], float64(share)/10_000)
	}
	is("in the sample and the half", sampled, 0.25)
	is("in the halves of both routes", other, 0.25)
}

func TestEvenlySpreadsAShare(t *testing.T) {
	for _, share := range []whittle.Share{0, 1, 100, 2500, 9999, whittle.All} {
		n := 0
		for i := range uint64(100_000) {
			if evenly(i, share) {
				n++
			}
		}
		if want := int(share) * 10; n < want-12 || n > want+12 {
			t.Errorf("share %d: %d of 100,000 requests, want %d", share, n, want)
		}
	}
}
