package replay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/whittletest"
)

func number(i int) string { return fmt.Sprintf(`{"n":%d}`, i%50) }

func numbers(n int) Log {
	return made{n, func(i int) *capture.Entry { return get(i, fmt.Sprintf("/n?i=%d", i), number(i)) }}
}

func numberOf(r *http.Request) string {
	var i int
	_, _ = fmt.Sscan(r.URL.Query().Get("i"), &i)
	return number(i)
}

func TestAnEqualCandidateIsEquivalent(t *testing.T) {
	var mu sync.Mutex
	hosts := map[string]int{}
	url := serve(t, func(r *http.Request) string {
		mu.Lock()
		defer mu.Unlock()
		hosts[r.Host+r.Header.Get("Accept-Encoding")+r.Header.Get("X-Set")]++
		return numberOf(r)
	})
	r := run(t, numbers(2000), Options{Against: url, Key: Key{unordered: true}, Header: whittle.Header{"X-Set": {"1"}}})
	if r.Verdict != whittle.Equivalent || r.Ledger.Compared != 2000 || r.Differing != 0 {
		t.Errorf("got %s, %+v: %s", r.Verdict, r.Ledger, r.Summary)
	}
	fatal.Same(t, hosts["shop.example1"], 2000, "the requests were not sent as recorded: %v", hosts)
	if len(r.Routes) != 1 || r.Routes[0].Route != "GET /n" || r.Routes[0].Kind != whittle.JSON {
		t.Errorf("routes %+v", r.Routes)
	}
	if r.Latency.Recorded.Count != 2000 || r.Latency.Now.Count != 2000 || r.Latency.Recorded.P50 != 500*time.Microsecond {
		t.Errorf("latency %+v", r.Latency)
	}
	if r.Shapes.Recorded != 1 || r.Shapes.Share != 1 || r.Err(nil) != nil || r.Err([]string{"undecided", "differs"}) != nil {
		t.Errorf("shapes %+v", r.Shapes)
	}
}

// TestARouteThatNeverRespondsIsNotLeftOut: one that responds to all its requests the
// same does not speak for one that responds to none.
func TestARouteThatNeverRespondsIsNotLeftOut(t *testing.T) {
	url := serve(t, func(r *http.Request) string {
		if r.URL.Path == "/report" {
			panic(http.ErrAbortHandler)
		}
		return numberOf(r)
	})
	log := made{2003, func(i int) *capture.Entry {
		if i >= 2000 {
			return get(i, "/report", `{}`)
		}
		return get(i, fmt.Sprintf("/n?i=%d", i), number(i))
	}}
	r := run(t, log, Options{Against: url, Key: Key{unordered: true}})
	if r.Verdict != whittle.Undecided || r.Ledger.Failed != 3 || whittle.CodeOf(r.Err([]string{"undecided"})) != whittle.FallsShort {
		t.Errorf("got %s, %+v: %s", r.Verdict, r.Ledger, r.Summary)
	}
}

// TestATargetThatIsNotThere could not be asked: that is no finding about a candidate, and
// neither is one response in the place of hundreds.
func TestATargetThatIsNotThere(t *testing.T) {
	for name, code := range map[string]whittle.Code{"nobody": whittle.Unavailable, "one of them": whittle.FallsShort} {
		var asked atomic.Int64
		url := serve(t, func(r *http.Request) string {
			if n := asked.Add(1); name == "nobody" || n != 3 {
				panic(http.ErrAbortHandler)
			}
			return numberOf(r)
		})
		r := run(t, numbers(300), Options{Against: url, Key: Key{unordered: true}, Connections: 1})
		if err := r.Err([]string{"differs", "undecided"}); r.Ledger.Failed < 299 || whittle.CodeOf(err) != code {
			t.Errorf("%s: %+v: %v", name, r.Ledger, err)
		}
	}
}

func TestAnotherFieldIsDifferentAndExplained(t *testing.T) {
	url := serve(t, func(r *http.Request) string { return strings.Replace(numberOf(r), "7", "8", 1) })
	r := run(t, numbers(1000), Options{Against: url, Key: Key{unordered: true}})
	if r.Verdict != whittle.Different || r.Differing != 100 || whittle.CodeOf(r.Err(nil)) != whittle.FallsShort {
		t.Fatalf("got %s, %d differ", r.Verdict, r.Differing)
	}
	f := r.Routes[0].Verdict.Findings[0]
	if f.Path != "$.n" || !f.Decided || len(f.Samples) == 0 || f.Count != 100 {
		t.Errorf("finding %+v", f)
	}
	if len(r.Shapes.Differ) != 1 || r.Shapes.Differ[0].Shape != "GET /n?i → 200" || r.Shapes.Differ[0].Differing != 100 {
		t.Errorf("shapes %+v", r.Shapes)
	}
}

func TestNoiseIsLearnedFromTheLog(t *testing.T) {
	var n int
	var mu sync.Mutex
	id := func() int {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
	log := made{2000, func(i int) *capture.Entry {
		return get(i, fmt.Sprintf("/item?i=%d", i%20), fmt.Sprintf(`{"id":%d,"of":%d}`, i, i%20))
	}}
	good := serve(t, func(r *http.Request) string {
		return fmt.Sprintf(`{"id":%d,"of":%s}`, 1_000_000+id(), r.URL.Query().Get("i"))
	})
	r := run(t, log, Options{Against: good, Key: Key{unordered: true}})
	if r.Verdict != whittle.Equivalent || len(r.Routes[0].Noise) != 1 || r.Routes[0].Noise[0] != "$.id (value)" {
		t.Errorf("got %s, noise %v: %+v", r.Verdict, r.Routes[0].Noise, r.Routes[0].Verdict.Findings)
	}
	bad := serve(t, func(r *http.Request) string {
		return fmt.Sprintf(`{"id":%d,"of":%s0}`, 1_000_000+id(), r.URL.Query().Get("i"))
	})
	r = run(t, log, Options{Against: bad, Key: Key{unordered: true}})
	if r.Verdict != whittle.Different || r.Routes[0].Verdict.Findings[0].Path != "$.of" {
		t.Errorf("got %s: %+v", r.Verdict, r.Routes[0].Verdict.Findings)
	}
}

func TestNoiseIsLearnedFromTheMonolith(t *testing.T) {
	var mu sync.Mutex
	asked, n := map[string]int{}, 0
	response := func(r *http.Request) string {
		mu.Lock()
		defer mu.Unlock()
		n++
		asked[r.Method]++
		return fmt.Sprintf(`{"at":%d,"i":%s}`, n, r.URL.Query().Get("i"))
	}
	candidate, monolith := serve(t, response), serve(t, response)
	log := made{1500, func(i int) *capture.Entry {
		e := get(i, fmt.Sprintf("/item?i=%d", i), fmt.Sprintf(`{"at":0,"i":%d}`, i))
		if i%10 == 9 {
			e.Request.Method, e.Route = "POST", "GET /item" // one route, and a write in it
		}
		return e
	}}
	r := run(t, log, Options{Against: candidate, Monolith: monolith, RepeatEvery: 4, Key: Key{unordered: true}, AllowWrites: true})
	if len(r.Notes) == 0 || asked["POST"] != 150 {
		t.Errorf("a route in which something may change asks the monolith nothing: %v, notes %v", asked, r.Notes)
	}
	log.at = func(i int) *capture.Entry {
		return get(i, fmt.Sprintf("/item?i=%d", i), fmt.Sprintf(`{"at":0,"i":%d}`, i))
	}
	clear(asked)
	r = run(t, log, Options{Against: candidate, Monolith: monolith, RepeatEvery: 4, Key: Key{unordered: true}})
	if r.Verdict != whittle.Equivalent || asked["GET"] != 1500+375 {
		t.Errorf("got %s after %v: %s", r.Verdict, asked, r.Summary)
	}
}

// TestTheLedgerAddsUp gives one exchange for each thing that can become of it.
func TestTheLedgerAddsUp(t *testing.T) {
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/cut":
			panic(http.ErrAbortHandler)
		case "/denied":
			w.WriteHeader(http.StatusUnauthorized)
		default:
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{}`)
		}
	}))
	defer gone.Close()
	list := []*capture.Entry{
		get(0, "/ok", `{}`), get(1, "/post", `{}`), get(2, "/served", `{}`), get(3, "/cut", `{}`), get(4, "/left", `{}`),
		get(5, "/large", `{}`), get(6, "/events", `{}`), get(7, "/down", `{}`), get(8, "/denied", `{}`), get(9, "/odd", `{}`), get(10, "/half", `{}`),
		get(11, "/socket", `{}`),
	}
	list[1].Request.Method = "POST"
	list[2].Served = whittle.Candidate
	list[4].Response = whittle.Response{Failure: whittle.FailedCanceled}
	list[5].Request.Truncated = true
	list[6].Response.Header = whittle.Header{"Content-Type": {"text/event-stream"}}
	list[7].Response = whittle.Response{Failure: whittle.FailedReset}
	list[8].Request.Header = whittle.Header{"Authorization": {"Bearer redacted-0123456789ab"}}
	list[9].Response.Header = whittle.Header{"Content-Encoding": {"br"}}
	list[10].Response.Truncated = true
	list[11].Request.Header = whittle.Header{"Upgrade": {"websocket"}}
	r := run(t, kept(list...), Options{Against: gone.URL})
	want := map[string]int64{
		whittle.SkipNotSafe: 1, whittle.SkipServed: 1, whittle.SkipCanceled: 1, whittle.SkipTooLarge: 2, whittle.SkipStreaming: 2,
		whittle.SkipMonolith: 1, skipRedacted: 1, whittle.SkipEncoded: 1,
	}
	if r.Ledger.Total != 12 || r.Ledger.Compared != 1 || r.Ledger.Failed != 1 || fmt.Sprint(r.Ledger.Skipped) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %v", r.Ledger, want)
	}
	if r.Redacted != (Redacted{Requests: 1, Denied: 1}) || len(r.Notes) < 2 {
		t.Errorf("redacted %+v, notes %v", r.Redacted, r.Notes)
	}
	if r.Shapes.Recorded != 12 || r.Shapes.Met != 1 {
		t.Errorf("shapes %+v", r.Shapes)
	}

	r = run(t, kept(list...), Options{Against: gone.URL, Header: whittle.Header{"Authorization": {"Bearer real"}}})
	if r.Redacted.Requests != 0 || r.Ledger.Compared != 2 {
		t.Errorf("a real credential is one to compare with: %+v %+v", r.Redacted, r.Ledger)
	}
	r = run(t, kept(list...), Options{Against: gone.URL, AllowWrites: true, Only: []string{"POST /post"}})
	if r.Ledger.Compared != 1 || r.Ledger.Skipped[skipOther] != 11 {
		t.Errorf("got %+v", r.Ledger)
	}
}

func TestConfiguredRoutesAreHeldToTheirContract(t *testing.T) {
	var mu sync.Mutex
	got := map[string]int{}
	url := serve(t, func(r *http.Request) string {
		mu.Lock()
		defer mu.Unlock()
		got[r.Method+" "+r.URL.Path+r.Header.Get("X-Dry-Run")]++
		return `{"id":9}`
	})
	compare := whittle.Comparison{Kind: whittle.JSON, Ignore: []string{"$.id"}, MaxDiffer: 0.005, MinCompared: 300, Confidence: .99}
	up := &whittle.Upstream{URL: "http://127.0.0.1:1", Timeout: 10 * time.Second, MaxResponse: 1 << 20}
	routes := []whittle.Route{
		{Name: "POST /a/{id}", Match: whittle.Match{Method: "POST", Pattern: "/a/{id}"}, Candidate: up, Compare: compare, DryRun: &whittle.DryRunHeader{Header: "X-Dry-Run", Value: "!"}},
		{Name: "POST /b", Match: whittle.Match{Method: "POST", Pattern: "/b"}, Candidate: up, Compare: compare},
		{Name: "GET /c", Match: whittle.Match{Method: "GET", Pattern: "/c"}},
	}
	var list []*capture.Entry
	for i, target := range []string{"/a/1", "/a/2", "/b", "/c", "/d"} {
		e := get(i, target, `{"id":1}`)
		e.Request.Method = "POST"
		if target == "/c" {
			e.Request.Method = "GET"
		}
		list = append(list, e)
	}
	r := run(t, kept(list...), Options{Against: url, Routes: routes})
	fatal.Same(t, fmt.Sprint(got), "map[POST /a/1!:1 POST /a/2!:1]", "sent")
	if r.Ledger.Compared != 2 || r.Ledger.Skipped[skipNoRoute] != 2 || r.Ledger.Skipped[whittle.SkipNotSafe] != 1 || r.Differing != 0 {
		t.Errorf("ledger %+v", r.Ledger)
	}
	_, err := Run(t.Context(), kept(list...), Options{Against: url, Routes: routes, Only: []string{"GET /c"}})
	whittletest.Refused(t, err, whittle.NotFound, "a route without a candidate")
	_, err = Run(t.Context(), kept(list...), Options{Against: url, Only: []string{"GET /none"}})
	whittletest.Refused(t, err, whittle.NotFound, "a route that the log does not have")
	r = run(t, kept(list[0], list[1]), Options{Against: url})
	if err := r.Err(nil); r.Ledger.Skipped[whittle.SkipNotSafe] != 2 || whittle.CodeOf(err) != whittle.Unavailable {
		t.Errorf("where nothing could be compared nothing holds: %v", err)
	}
	_, err = Run(t.Context(), kept(), Options{Against: url})
	whittletest.Refused(t, err, whittle.Invalid, "an empty log")
	_, err = Run(t.Context(), kept(list...), Options{Against: "localhost"})
	whittletest.Refused(t, err, whittle.Invalid, "no URL")
}

// What is remembered of all routes together is bounded, and each of them keeps
// something.
func TestRepeatsAreBoundedTogether(t *testing.T) {
	bytes := int64(0)
	routes := make([]*repeats, 8)
	for r := range routes {
		routes[r] = newRepeats(&bytes)
		for i := range 12 {
			e := get(i, fmt.Sprintf("/%d/%d", r, i), strings.Repeat("x", 1<<20))
			routes[r].see(e)
			if again := routes[r].see(e); again == nil {
				t.Errorf("route %d has forgotten its last response", r)
			}
		}
	}
	held := int64(0)
	for _, r := range routes {
		for _, a := range r.last {
			held += int64(len(a.Body))
		}
	}
	if held != bytes || held > repeatsBytes+int64(len(routes))<<20 {
		t.Errorf("%d bytes are held, %d counted", held, bytes)
	}
}

// FuzzShape holds a shape's name to its bound, and to be the same each time.
func FuzzShape(f *testing.F) {
	f.Add("/a?b=1&c", "application/json", []byte(`{"a":[1,-2,0.5,"",null,{"b":true}],"c":{}}`))
	f.Add("/?%zz", "application/x-www-form-urlencoded", []byte("a=1&b"))
	f.Add("", "text/plain;", []byte("{} {}"))
	f.Fuzz(func(t *testing.T, target, contentType string, body []byte) {
		e := get(0, target, "")
		e.Request.Header, e.Request.Body = whittle.Header{"Content-Type": {contentType}}, body
		show := func(name string) string { return name }
		name := shapeOf("POST /a", e, show)
		if len(name) > shapeText+20 || name != shapeOf("POST /a", e, show) {
			t.Errorf("%d bytes: %q", len(name), name)
		}
	})
}
