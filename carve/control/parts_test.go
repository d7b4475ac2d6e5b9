package control

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"
	"time"

	"whittle"
	"whittle/carve/state"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// TestTrafficCountsWholeSeconds: a request is seen from the next second on for ten
// seconds, and requests of each of those count.
func TestTrafficCountsWholeSeconds(t *testing.T) {
	var one traffic
	one.user(&whittle.Outcome{Status: 500, Latency: time.Millisecond}, noon)
	for age, want := range map[time.Duration]float64{
		0: 0, 999 * time.Millisecond: 0, time.Second: 0.1, 10 * time.Second: 0.1, 10*time.Second + 999*time.Millisecond: 0.1, 11 * time.Second: 0, -time.Second: 0,
	} {
		if got := one.shown(noon.Add(age)); got.PerSecond != want || got.Errors != want*10 {
			t.Errorf("%v later: %+v", age, got)
		}
	}
	var each traffic
	for s := range 30 {
		each.user(&whittle.Outcome{Status: 200}, noon.Add(time.Duration(s)*time.Second))
	}
	if got := each.shown(noon.Add(30 * time.Second)); got.PerSecond != 1 || got.Errors != 0 {
		t.Errorf("one request a second: %+v", got)
	}
	var old traffic
	before := time.Unix(-7, 0) // a clock that was never set
	old.user(&whittle.Outcome{Status: 200}, before)
	if got := old.shown(before.Add(time.Second)); got.PerSecond != 0.1 {
		t.Errorf("before 1970: %+v", got)
	}
}

// TestTrafficsLatencies: they are of the last ten seconds and of the last responses,
// in bounded memory; a response that took no time at all was not measured.
func TestTrafficsLatencies(t *testing.T) {
	var s traffic
	s.note(whittle.NoFailure, 7*time.Millisecond, noon)
	s.note(whittle.NoFailure, 0, noon)
	s.note(whittle.NoFailure, -time.Second, noon)
	s.note(whittle.FailedReset, time.Second, noon)
	for age, want := range map[time.Duration]float64{0: 7, trafficSpan: 7, trafficSpan + 1: 0} {
		if got := s.shown(noon.Add(age)); got.P50 != want || got.P99 != want {
			t.Errorf("%v later: %+v", age, got)
		}
	}
	for i := range 3*trafficSample + 5 {
		s.note(whittle.NoFailure, time.Duration(i+1)*time.Millisecond, noon)
	}
	if len(s.taken) != trafficSample {
		t.Errorf("%d latencies are kept", len(s.taken))
	}
	least := time.Duration(math.MaxInt64)
	for _, k := range s.taken {
		least = min(least, k.d)
	}
	if want := time.Duration(2*trafficSample+6) * time.Millisecond; least != want {
		t.Errorf("the oldest of the last %d is %v, want %v", trafficSample, least, want)
	}
}

// TestThinned: a point is due once the spacing has passed, and at once where the
// clock was set back. All points stay up to the bound; one more, and every second one
// goes, the first one stays, and the spacing doubles.
func TestThinned(t *testing.T) {
	var s thinned[time.Time]
	at := func(p time.Time) time.Time { return p }
	due := func(now time.Time) bool { return s.due(now, time.Second, at) }
	if !due(noon) {
		t.Error("the first point is not due")
	}
	s.add(noon)
	for after, want := range map[time.Duration]bool{-1: true, 0: false, time.Second - 1: false, time.Second: true, time.Hour: true} {
		if due(noon.Add(after)) != want {
			t.Errorf("%v after the last: due %v", after, !want)
		}
	}
	for i := 1; i < maxPast; i++ {
		s.add(noon.Add(time.Duration(i) * time.Second))
	}
	if len(s.Points) != maxPast || s.Every != time.Second {
		t.Errorf("%d points, one every %v", len(s.Points), s.Every)
	}
	s.add(noon.Add(maxPast * time.Second))
	if len(s.Points) != maxPast/2+1 || s.Every != 2*time.Second || !s.Points[0].Equal(noon) || !s.Points[maxPast/2].Equal(noon.Add(maxPast*time.Second)) {
		t.Errorf("%d points, one every %v, from %v to %v", len(s.Points), s.Every, s.Points[0], s.Points[len(s.Points)-1])
	}
}

// TestFingerprint: the same specs have the same one wherever they lie in memory, and
// those that differ have another, also where they cannot be written as JSON.
func TestFingerprint(t *testing.T) {
	type one struct{ P *int }
	a, b, c := 1, 1, 2
	if fingerprint(one{&a}) != fingerprint(one{&b}) || fingerprint(one{&a}) == fingerprint(one{&c}) {
		t.Error("a fingerprint is of where a value lies")
	}
	if x, y := fingerprint([]float64{math.NaN(), 1}), fingerprint([]float64{math.NaN(), 2}); x == y || x != fingerprint([]float64{math.NaN(), 1}) {
		t.Error("what cannot be written as JSON has one fingerprint")
	}
}

// TestAnUpdateKeepsTheEpoch: what names a route's evidence, and that of its guards, is what
// it was in earlier versions of the program. If this fails since a field was added, have
// it left out where it is zero (json:",omitzero"): otherwise an update takes all users off
// every candidate, and the gateways of a fleet do not agree while it is updated.
func TestAnUpdateKeepsTheEpoch(t *testing.T) {
	monolith := whittle.Upstream{URL: "http://monolith:80", Build: "1"}
	plain := whittle.Route{Candidate: &whittle.Upstream{URL: "http://candidate:80"}, Compare: whittle.Comparison{Kind: whittle.JSON}}
	full := whittle.Route{
		Candidate: &whittle.Upstream{URL: "http://candidate:80", Build: "2"},
		RPC:       &whittle.RPC{Method: "a.B/C", Query: map[string]string{"q": "f"}},
		Compare: whittle.Comparison{
			Kind: whittle.Statistical, Headers: []string{"Etag"}, Ignore: []string{"$.a"}, IgnoreText: []string{"a+"}, Unordered: []string{"$.b"},
			Forms: []whittle.FieldForm{{Path: "$.id", Form: "uuid"}}, Value: "number", Margin: whittle.Margin{Mean: 0.5},
			Expect: []whittle.Expectation{{Kind: whittle.FoundField, Path: "$.c", Reason: "agreed"}},
		},
	}
	for what, c := range map[string]struct{ got, want string }{
		"plain":  {Epoch(monolith, plain), "92b33801d6b4af7e6eb0c1b8a597574e"},
		"full":   {Epoch(monolith, full), "e295360d0136297e9042c75e4b8acb86"},
		"guards": {fingerprint(whittle.Guard{Errors: 0.01, Exposure: 50}), "57596b3c7b075cddafc2f68075cbc4b6"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, and it was %q", what, c.got, c.want)
		}
	}
}

// TestTheFirstReasonOfATripStays: a breaker that trips again under the same position
// has nothing to add; one that trips under a later one has.
func TestTheFirstReasonOfATripStays(t *testing.T) {
	var m mailbox
	m.trip(trip{4, "first"})
	m.trip(trip{4, "second"})
	m.trip(trip{3, "late"})
	if _, got := m.take(nil); got != (trip{4, "first"}) {
		t.Errorf("%+v", got)
	}
	m.trip(trip{4, "first"})
	m.trip(trip{5, ""})
	if _, got := m.take(nil); got.generation != 5 || got.reason == "" {
		t.Errorf("%+v", got)
	}
}

// TestPairs: a guard is not shown as compared what the judge has skipped.
func TestPairs(t *testing.T) {
	x := &whittle.Exchange{Route: "/x", User: 7}
	if p := pairOf(x, whittle.Observation{Differs: true}); !p.Compared || !p.Differs || p.User != 7 {
		t.Errorf("%+v", p)
	}
	if p := pairOf(x, whittle.Observation{Skip: whittle.SkipTooLarge}); p.Compared {
		t.Errorf("%+v", p)
	}
}

// TestAKeptPastIsBounded: as many points as are ever kept are taken from a record, and
// one that has more is not believed.
func TestAKeptPastIsBounded(t *testing.T) {
	for points, want := range map[int]int{maxPast: maxPast, maxPast + 1: 0} {
		disk := &sheet{}
		o := Options{
			Store: disk, Apply: func(string, whittle.Position) bool { return true },
			NewJudge: func(whittle.Comparison) (Judge, error) { return &knowing{}, nil },
			Routes:   []whittle.Route{{Name: "/x", Candidate: &whittle.Upstream{URL: "http://127.0.0.1:1"}}},
		}
		c, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range points {
			r := c.find("/x")
			r.past.evidence.Points = append(r.past.evidence.Points, whittle.EvidencePoint{At: noon, Compared: i + 1})
		}
		if err := c.find("/x").saveOnce(); err != nil {
			t.Fatal(err)
		}
		again, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := again.Past("/x"); err != nil || len(p.Evidence) != want {
			t.Errorf("%d of %d points, %v", len(p.Evidence), points, err)
		}
	}
}

// knowing is a judge that says what a test wants.
type knowing struct {
	Judge
	skip    string
	differs bool
	served  whittle.Served
	needed  int
	after   time.Duration
}

func (k *knowing) Observe(*whittle.Exchange) whittle.Observation {
	return whittle.Observation{Skip: k.skip, Differs: k.differs}
}
func (k *knowing) Recheck(*whittle.Recheck) (time.Duration, bool) { return k.after, k.after > 0 }
func (k *knowing) Known(q *whittle.Request) bool                  { return q.Target == "/known" }
func (k *knowing) Served() whittle.Served                         { return k.served }
func (k *knowing) ServedNeeded(float64) int                       { return k.needed }
func (k *knowing) Verdict() whittle.Verdict                       { return whittle.Verdict{State: whittle.Undecided} }
func (k *knowing) MarshalBinary() ([]byte, error)                 { return json.Marshal(0) }
func (k *knowing) UnmarshalBinary([]byte) error                   { return nil }

// judged is a controller of one route, whose judge is a test's, and its route at a
// share.
func judged(t *testing.T, j *knowing, share whittle.Share, change ...func(*Options)) (*Controller, *route) {
	t.Helper()
	o := Options{
		Store: &sheet{r: state.Record{}}, Apply: func(string, whittle.Position) bool { return true },
		NewJudge: func(whittle.Comparison) (Judge, error) { return j, nil },
		Routes: []whittle.Route{{
			Name: "/x", Candidate: &whittle.Upstream{URL: "http://127.0.0.1:1"},
			Rollout: whittle.Rollout{Steps: []whittle.Share{500, whittle.All}, Hold: time.Hour, Harm: 0.005},
		}},
		Now: func() time.Time { return noon },
	}
	for _, c := range change {
		c(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	c.Start()
	r := c.find("/x")
	if share > 0 {
		r.st.Phase, r.st.Share = whittle.PhaseShift, share
		r.decided.Store(&whittle.Position{Generation: r.generation, Share: share, Phase: whittle.PhaseShift})
	}
	return c, r
}

// TestWhatExposesACandidate: only what was compared while users depend on the candidate
// makes its guard begin afresh before another shift, and only a difference among that
// is not left to wait for the next tick.
func TestWhatExposesACandidate(t *testing.T) {
	for name, c := range map[string]struct {
		share   whittle.Share
		skip    string
		differs bool

		exposed, wakes bool
	}{
		"users, compared":      {500, "", false, true, false},
		"users, differs":       {500, "", true, true, true},
		"users, not compared":  {500, whittle.SkipTooLarge, true, false, false},
		"shadow, compared":     {0, "", false, false, false},
		"shadow, differs":      {0, "", true, false, false},
		"shadow, not compared": {0, whittle.SkipTooLarge, false, false, false},
	} {
		control, r := judged(t, &knowing{skip: c.skip, differs: c.differs}, c.share)
		if o := control.Observe(&whittle.Exchange{Route: "/x", At: noon}); o.Skip != c.skip || !o.Counted {
			t.Errorf("%s: %+v", name, o)
		}
		if r.ev.exposed != c.exposed {
			t.Errorf("%s: exposed %v", name, r.ev.exposed)
		}
		woken := false
		select {
		case <-r.wake:
			woken = true
		default:
		}
		if woken != c.wakes {
			t.Errorf("%s: woken %v", name, woken)
		}
	}
}

// TestRecheck: the judge says whether both sides are asked once more, of a route that
// is on and of an exchange that belongs to its evidence.
func TestRecheck(t *testing.T) {
	j := &knowing{after: 5 * time.Second}
	c, r := judged(t, j, 0)
	of := func(route string, at time.Time) *whittle.Recheck {
		return &whittle.Recheck{Exchange: &whittle.Exchange{Route: route, At: at}}
	}
	r.ev.begun, r.ev.stale, r.ev.changed = noon, false, false
	if after, more := c.Recheck(of("/x", noon)); after != j.after || !more || r.ev.stale || r.ev.changed {
		t.Errorf("%v, %v", after, more)
	}
	if after, more := c.Recheck(of("/x", noon.Add(-1))); after != 0 || more {
		t.Errorf("from before the evidence: %v, %v", after, more)
	}
	if after, more := c.Recheck(of("/y", noon)); after != 0 || more {
		t.Errorf("of no route: %v, %v", after, more)
	}
	j.after = 0
	if _, more := c.Recheck(of("/x", noon)); more || !r.ev.stale || !r.ev.changed {
		t.Errorf("its last word: more %v, the verdict is stale %v, and to be saved %v", more, r.ev.stale, r.ev.changed)
	}
	j.after = time.Second
	r.decided.Store(&whittle.Position{Phase: whittle.PhaseOff})
	if after, more := c.Recheck(of("/x", noon)); after != 0 || more {
		t.Errorf("of a route that is off: %v, %v", after, more)
	}
}

func TestKnown(t *testing.T) {
	c, _ := judged(t, &knowing{}, 0)
	for path, want := range map[string]bool{"/known": true, "/other": false} {
		if c.Known("/x", &whittle.Request{Target: path}) != want {
			t.Errorf("%s is known: %v", path, !want)
		}
	}
	if c.Known("/y", &whittle.Request{Target: "/known"}) {
		t.Error("a request of no route is known")
	}
}

// TestWatchFollowsTheShare: how many of the candidate's responses are compared is put
// in force when it changes, and only then.
func TestWatchFollowsTheShare(t *testing.T) {
	var put []whittle.Share
	_, r := judged(t, &knowing{needed: 700, served: whittle.Served{Compared: 10, Bound: 1}}, 0, func(o *Options) {
		o.Routes[0].Mirror.Watch = 300
		o.Watch = func(_ string, s whittle.Share) { put = append(put, s) }
	})
	for _, share := range []whittle.Share{0, 500, 500, 0, 0} {
		st := r.st
		if st.Share = share; share > 0 {
			st.Phase = whittle.PhaseShift
		}
		r.watch(st)
	}
	if want := []whittle.Share{300, whittle.All, 300}; len(put) != 3 || put[0] != want[0] || put[1] != want[1] || put[2] != want[2] {
		t.Errorf("%v were put in force, want %v", put, want)
	}
}

// TestHarmsMinutes: how long a step has to wait follows from how many of the
// candidate's responses to users are compared a minute.
func TestHarmsMinutes(t *testing.T) {
	for watched, want := range map[whittle.Share]float64{whittle.All: 1.2, 5000: 2.4} {
		_, r := judged(t, &knowing{needed: 730, served: whittle.Served{Compared: 10, Bound: 0.7}}, 500)
		for range 100 {
			r.pace.user(&whittle.Outcome{Side: whittle.Candidate, Status: 200}, noon.Add(-time.Second))
		}
		r.watched = watched
		if h := r.harm(r.st); h.Needed != 720 || math.Abs(h.Minutes-want) > 0.1001 || h.Minutes < want {
			t.Errorf("%d watched of 10 a second: %d more in %g minutes, want %g", watched, h.Needed, h.Minutes, want)
		}
	}
}

// TestNothingIsRememberedOfNothing: a past begins with the first exchange that was
// compared, and with the first traffic of either side; then quiet times are a part of
// it, one point in five seconds.
func TestNothingIsRememberedOfNothing(t *testing.T) {
	for _, side := range []whittle.Side{whittle.Monolith, whittle.Candidate} {
		now := noon
		c, r := judged(t, &knowing{}, 0, func(o *Options) { o.Now = func() time.Time { return now } })
		second := func(n int) {
			for range n {
				now = now.Add(time.Second)
				r.step(false)
			}
		}
		second(20)
		if p, err := c.Past("/x"); err != nil || len(p.Traffic) != 0 || len(p.Evidence) != 0 {
			t.Errorf("before all traffic: %+v, %v", p, err)
		}
		r.pace.user(&whittle.Outcome{Side: side, Status: 200}, now)
		second(100)
		p, err := c.Past("/x")
		if err != nil || len(p.Traffic) != 20 || len(p.Evidence) != 0 {
			t.Fatalf("side %d: %d points of traffic, %d of evidence, %v", side, len(p.Traffic), len(p.Evidence), err)
		}
		for i := 1; i < len(p.Traffic); i++ {
			if d := p.Traffic[i].At.Sub(p.Traffic[i-1].At); d != 5*time.Second {
				t.Errorf("side %d: points %d and %d are %v apart", side, i-1, i, d)
			}
		}
	}
}

// TestIdentifyCounts: bounds of one name are numbered in their order.
func TestIdentifyCounts(t *testing.T) {
	bounds := make([]whittle.Bound, 4)
	for i := range bounds {
		bounds[i].What = "share"
	}
	identify(bounds)
	for i := 1; i < len(bounds); i++ {
		if want := "share " + strconv.Itoa(i+1); bounds[i].ID != want {
			t.Errorf("bound %d is %q, want %q", i, bounds[i].ID, want)
		}
	}
}
