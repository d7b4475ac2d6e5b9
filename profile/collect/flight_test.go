package collect

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"reflect"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/profile"
)

// timeline is marks by hand: "start a", "turn a", "end", "over a" at each millisecond.
func timeline(names []string, events ...string) *marks {
	m := &marks{names: names, counts: make([]int64, len(names))}
	for i, e := range events {
		code := int32(0)
		for n, name := range names {
			switch e {
			case "start " + name:
				code = begins | int32(n+1)
				m.counts[n]++
			case "turn " + name:
				code = int32(n + 1)
			case "over " + name:
				code = over | int32(n+1)
			}
		}
		m.times, m.codes = append(m.times, float64(i)*1000), append(m.codes, code)
	}
	return m
}

func same(name string) string { return name }

func TestATurnIsItsRequests(t *testing.T) {
	m := timeline([]string{"a", "b"}, "start a", "end", "start b", "over b", "end", "turn a", "over a")
	for at, want := range map[float64]string{-1: "", 0: "a", 500: "a", 1000: "", 2100: "b", 3500: "b", 4000: "", 5000: "a", 9e9: "a"} {
		fatal.Same(t, m.at(at), want, "at %v", at)
	}
}

// A function that waits for a database comes back in a turn of nobody's. It is an
// endpoint's where that one's requests were under way each time, by more than chance.
func TestAFunctionIsInferredOnlyBeyondChance(t *testing.T) {
	functions := []profile.Function{{Name: "load", Owner: profile.Own}, {Name: "(garbage collector)", Owner: profile.System, Category: profile.Collecting}, {Name: "cron", Owner: profile.Own}}
	for name, c := range map[string]struct {
		events  []string
		samples map[int]int32 // by millisecond: the function
		want    map[int]string
	}{
		"always while a is under way": {
			[]string{"start a", "end", "over a", "", "", "", "", "", "", "start a", "end", "over a", "start b", "end", "over b"},
			map[int]int32{1: 0, 10: 0},
			map[int]string{1: "", 10: ""}, // twice is no proof
		},
		"the collector, while a alone is": {
			[]string{"start a", "end", "", "over a", "", "start b", "start a", "end"},
			map[int]int32{2: 1, 4: 1, 7: 1},
			map[int]string{2: "a", 4: "", 7: ""},
		},
	} {
		p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: functions, Duration: 20 * time.Millisecond}
		for ms := range 20 {
			if f, ok := c.samples[ms]; ok {
				p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Function: f}}, Value: 1, At: time.Duration(ms)*time.Millisecond + 1})
			}
		}
		timeline([]string{"a", "b"}, c.events...).flights(same).infer(p)
		for _, s := range p.Samples {
			fatal.Same(t, s.Endpoint, c.want[int(s.At/time.Millisecond)], "%s: at %s", name, s.At)
		}
	}
}

// Over a hundred requests of which one in ten is a's, load runs for a's, and cron for
// nobody's; so they do where one function of the service's own calls both, as the server of
// a bundle. A worker's collector works for whoever it interrupts, while that is under way.
func TestAFunctionIsInferred(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Functions: []profile.Function{
		{Name: "load", Owner: profile.Own},
		{Name: "cron", Owner: profile.Own},
		{Name: "serve", Owner: profile.Own},
		{Name: "(garbage collector)", Owner: profile.System, Category: profile.Collecting},
	}}
	var events []string
	for i := range 100 {
		name := "b"
		if i%10 == 0 {
			name = "a"
			p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Function: 0}}, Value: 1, At: time.Duration(4*i+2)*time.Millisecond + 1})
		}
		if i%7 == 0 {
			p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Function: 1}}, Value: 1, At: time.Duration(4*i+2)*time.Millisecond + 2})
		}
		events = append(events, "start "+name, "end", "", "over "+name)
	}
	for i, f := range []int32{-1, -1, 0, 3, -1, 3, -1, 1, 3} { // at each of the last events
		if f >= 0 {
			p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Function: f}}, Value: 1, At: time.Duration(len(events)+i)*time.Millisecond + 1})
		}
	}
	events = append(events, "start a", "start b", "", "", "over a", "over b", "start a", "start b", "")
	collector := []string{"a", "", ""} // then a is over, and then cron's is nobody's
	p.Duration = time.Duration(len(events)) * time.Millisecond
	for thread, below := range [][]profile.Frame{nil, {{Function: 2}}} {
		for i := range p.Samples {
			s := &p.Samples[i]
			if s.Thread, s.Endpoint = int32(thread), ""; s.Stack[0].Function != 3 {
				s.Stack = append(s.Stack[:1:1], below...)
			}
		}
		seen := 0
		timeline([]string{"a", "b"}, events...).flights(same).infer(p)
		for _, s := range p.Samples {
			want := map[int32]string{0: "a", 1: ""}[s.Stack[0].Function]
			if s.Stack[0].Function == 3 {
				want, seen = collector[seen], seen+1
			}
			fatal.Same(t, s.Endpoint, want, "%s at %s is of", p.Functions[s.Stack[0].Function].Name, s.At)
		}
	}
}

func TestMarksThatMakeNoSense(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `{"names": ["a"]}`, `{"names": [], "counts": [], "times": "!"}`, `{"names": [], "counts": [], "times": "AAAAAAAAAAA=", "codes": ""}`,
	} {
		if m := readMarks([]byte(text)); m != nil && len(m.times) > 0 {
			t.Errorf("%s was read as %+v", text, m)
		}
	}
	if m := readMarks([]byte(`{"names": ["GET /"], "counts": [2], "offset": 5, "times": "AAAAAAAA8D8=", "codes": "AQABAA=="}`)); m == nil || m.times[0] != 1005 || m.codes[0] != begins|1 {
		t.Errorf("read %+v", m)
	}
}

// Keys that have a digit and no other look of one are known by how many there are at a
// place: versions, and names with a digit, are few.
func TestKeysAreKnownByHowManyThereAre(t *testing.T) {
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("GET /v1/shops/eu1/items/sku%d-b/price", i), fmt.Sprintf("GET /v%d/health", i%2+1))
	}
	keys := keysIn(names)
	for name, want := range map[string]string{
		"GET /v1/shops/eu1/items/sku3-b/price": "GET /v1/shops/eu1/items/{id}/price", "GET /v1/health": "GET /v1/health", "GET /v1/shops/17": "GET /v1/shops/{id}", "odd": "odd",
	} {
		fatal.Same(t, keys.open(name), want, "%s", name)
	}
	for name, want := range map[string]string{
		"GET /orders/17/csv": "GET /orders/{id}/csv", "GET /v1/orders": "GET /v1/orders", "GET /": "GET /", "odd": "odd",
		"GET /u/123e4567-e89b-12d3-a456-426614174000": "GET /u/{id}", "GET /p/oauth2/token": "GET /p/oauth2/token", "GET /f/da39a3ee5e6b4b0d": "GET /f/{id}",
	} {
		fatal.Same(t, openPath(name), want, "alone %s", name)
	}
}

// marked runs a script with the marks, and gives what it says.
func marked(t *testing.T, script string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), needs.Node(t), script, "marks.js").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// An application that replaced or broke what the marks use notices nothing of it, and has
// nothing left of them.
func TestMarksInHostileApplications(t *testing.T) {
	out := marked(t, "testdata/hostile.js")
	var noticed map[string][]string
	if err := json.Unmarshal(out, &noticed); err != nil || len(noticed) != 9 {
		t.Fatalf("%v: %s", err, out)
	}
	for name, all := range noticed {
		if len(all) > 0 {
			t.Errorf("%s: %q", name, all)
		}
	}
}

// Once marks have no more room, nobody knows for whom the process works.
func TestMarksThatAreFull(t *testing.T) {
	m := readMarks([]byte(`{"names": ["GET /a"], "counts": [2], "offset": 0, "cut": true,
		"times": "AAAAAAAA8D8AAAAAAAAAQAAAAAAAAAhA", "codes": "AQABAAAAAAABAAEA"}`)) // begins at 1 ms, ends at 2, begins at 3
	if m == nil {
		t.Fatal("not read")
	}
	fatal.Same(t, [2]string{m.at(1500), m.at(5000)}, [2]string{"GET /a", ""}, "")
	f := m.flights(same)
	fatal.Same(t, f.under[len(f.under)-1], 0, "in the end under way")
}

// Whatever a request does, its turns are its own: at once, behind promises and ticks,
// by piece of its body, once it responds after it waited, and behind its response. A request that ends in
// its first turn changes no prototype of Node's, and nothing is left of the others.
func TestTurnsOfRequests(t *testing.T) {
	out := marked(t, "testdata/turns.js")
	var of struct {
		Result  json.RawMessage `json:"result"`
		Moments [][2]any        `json:"moments"`
		Patches [][][]string    `json:"patches"`
		Left    bool            `json:"left"`
	}
	fatal.If(t, json.Unmarshal(out, &of))
	m := readMarks(of.Result)
	if m == nil {
		t.Fatalf("no marks in %s", of.Result)
	}
	for n, moment := range of.Moments {
		fatal.Same(t, m.at(moment[1].(float64)), moment[0].(string), "moment %d belongs to", n)
	}
	counted := m.requests(same)
	if want := map[string]int64{"GET /sync": 4, "GET /promise": 4, "GET /after": 3, "GET /ticks": 3, "GET /later": 2, "POST /body": 1, "GET /broken": 1}; !reflect.DeepEqual(counted, want) {
		t.Errorf("counted %v, want %v", counted, want)
	}
	f := m.flights(same)
	if n := len(f.under); n == 0 || f.under[n-1] != 0 {
		t.Errorf("in the end under way: %b", f.under)
	}
	none, both := [][]string{{}, {}}, [][]string{{"emit"}, {"end"}}
	if want := [][][]string{none, none, both, none}; !reflect.DeepEqual(of.Patches, want) || of.Left {
		t.Errorf("prototypes had %q, want %q; left: %t", of.Patches, want, of.Left)
	}
}
