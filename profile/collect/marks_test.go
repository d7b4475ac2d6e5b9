package collect

import (
	"encoding/json"
	"os/exec"
	"reflect"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/needs"
)

// An application that replaced or broke what the marks use notices nothing of it, and has
// nothing left of them.
func TestMarksInHostileApplications(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), needs.Node(t), "testdata/hostile.js", "marks.js").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
	if got := [2]string{m.at(1500), m.at(5000)}; got != [2]string{"GET /a", ""} {
		t.Errorf("%q", got)
	}
	f := m.flights(same)
	if under := f.under[len(f.under)-1]; under != 0 {
		t.Errorf("in the end under way: %b", under)
	}
}

// Whatever a request does, its turns are its own: at once, behind promises and ticks,
// by piece of its body, once it responds after it waited, and behind its response. A request that ends in
// its first turn changes no prototype of Node's, and nothing is left of the others.
func TestTurnsOfRequests(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), needs.Node(t), "testdata/turns.js", "marks.js").Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
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
		if got := m.at(moment[1].(float64)); got != moment[0] {
			t.Errorf("moment %d belongs to %q, want %q", n, got, moment[0])
		}
	}
	counted := m.requests(func(name string) string { return name })
	if want := map[string]int64{"GET /sync": 4, "GET /promise": 4, "GET /after": 3, "GET /ticks": 3, "GET /later": 2, "POST /body": 1, "GET /broken": 1}; !reflect.DeepEqual(counted, want) {
		t.Errorf("counted %v, want %v", counted, want)
	}
	f := m.flights(func(name string) string { return name })
	if n := len(f.under); n == 0 || f.under[n-1] != 0 {
		t.Errorf("in the end under way: %b", f.under)
	}
	none, both := [][]string{{}, {}}, [][]string{{"emit"}, {"end"}}
	if want := [][][]string{none, none, both, none}; !reflect.DeepEqual(of.Patches, want) || of.Left {
		t.Errorf("prototypes had %q, want %q; left: %t", of.Patches, want, of.Left)
	}
}
