package duel

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/jmxtest"
	"whittle/load/plan"
)

// What cannot be compared is an error before anything is sent: nobody listens there.
func TestRequestsThatAreNoComparisonAreRefused(t *testing.T) {
	const a, b = "http://127.0.0.1:1/x", "http://127.0.0.1:2/x"
	some := load.Workload{Rate: 1, Duration: time.Second}
	gate := gates(t, "errors ratio surely > 1")
	for want, q := range map[string]Request{
		"how much":            {A: a, B: b},
		"either a rate":       {A: a, B: b, What: some, Users: []int{2}},
		"the same path":       {A: a, B: b + "/y", What: some},
		"--users 0":           {A: a, B: b, Users: []int{0}},
		"--users -3":          {A: a, B: b, Users: []int{5, -3}},
		"not below 0":         {A: a, B: b, What: some, Runs: -1},
		"--method goes":       {A: a, B: b, Users: []int{1}, What: load.Workload{Plan: "p.yml", Request: load.Request{Method: "PUT"}}},
		`"errors ratio > 1"`:  {A: a, B: b, Users: []int{1, 2}, Gates: gate},
		"a pool of -1":        {A: a, B: b, What: some, Options: load.Options{Pool: -1}},
		"h:1 is no URL":       {A: "h:1", B: "h:2"},
		"with whole runs":     {A: a, B: b, Users: []int{2}, Loops: 2},
		"here are whole runs": {A: a, B: b, Users: []int{2, 3}, Block: time.Second},
		"--environment goes":  {A: a, B: b, What: load.Workload{Rate: 1, Duration: time.Second, Environment: "x"}},
		"blocks of 5ms are n": {A: a, B: b, What: some, Block: 5 * time.Millisecond},
	} {
		_, err := q.Run(t.Context())
		code := whittle.CodeOf(err)
		if err == nil || code != whittle.Invalid && code != whittle.NotFound || !strings.Contains(err.Error()+hintOf(err), want) {
			t.Errorf("%s: %v (%v)", want, err, code)
		}
	}
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*whittle.Error](err); ok {
		return e.Hint
	}
	return ""
}

// Each target gets the login of its own URL, and no report has any.
func TestEachTargetGetsItsOwnLogin(t *testing.T) {
	t.Parallel()
	var wrong atomic.Int64
	start := func(name string) string {
		url := serving(t, func(_ http.ResponseWriter, r *http.Request) {
			if user, password, _ := r.BasicAuth(); user != name || password != "secret"+name || r.URL.Path != "/x" {
				wrong.Add(1)
			}
		})
		return strings.Replace(url, "://", "://"+name+":secret"+name+"@", 1) + "/x"
	}
	r, err := Request{A: start("a"), B: start("b"), Users: []int{1}, Runs: 1, Loops: 2, Options: load.Options{MaxLate: time.Minute}}.Run(t.Context())
	fatal.If(t, err)
	var text bytes.Buffer
	b, err := json.Marshal(r)
	if err != nil || r.WriteSummary(&text) != nil {
		t.Fatal(err)
	}
	if wrong.Load() != 0 || strings.Contains(string(b)+text.String(), "secret") || r.(*LevelsReport).Levels[0].failed("a") != 0 {
		t.Errorf("%d with another login: %s", wrong.Load(), b)
	}
}

func says(t *testing.T, text string) (url string) {
	return serving(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// Scripts that fail are said of the target at which they did, their counts added up over
// the blocks.
func TestADuelSaysWhichScriptsFailed(t *testing.T) {
	t.Parallel()
	script := jmxtest.Groovy("JSR223PostProcessor", "look", `if (prev.getResponseDataAsString() == "bad") throw new Exception("it is bad")`)
	p, err := load.Parse("p.jmx", []byte(jmxtest.Plan(jmxtest.Group(1, 3, "\n"+jmxtest.Get("/x", script)))), plan.Source{})
	fatal.If(t, err)
	c, err := Duel{
		Plan: p, A: Side{Target: says(t, "good")}, B: Side{Target: says(t, "bad")},
		Length: 300 * time.Millisecond, Block: 100 * time.Millisecond, Warmup: 100 * time.Millisecond, Options: load.Options{MaxLate: time.Minute},
	}.Run(t.Context())
	fatal.If(t, err)
	if len(c.A.ScriptFailures) != 0 || len(c.B.ScriptFailures) != 1 || c.B.ScriptFailures[0].Count != c.B.Completed || c.B.Completed == 0 {
		t.Errorf("A %+v, B %+v of %d", c.A.ScriptFailures, c.B.ScriptFailures, c.B.Completed)
	}
	var b strings.Builder
	fatal.If(t, c.WriteSummary(&b))
	text := b.String()
	if strings.Contains(text, "SCRIPT FAILED, target A") || !strings.Contains(text, "SCRIPT FAILED, target B: JSR223PostProcessor") ||
		!strings.Contains(text, "p.jmx:2)") || !strings.Contains(text, "it is bad") {
		t.Errorf("it says %.3000s", text)
	}
}

func gates(t *testing.T, texts ...string) []Gate {
	t.Helper()
	out, err := ParseGates(texts)
	fatal.If(t, err)
	return out
}

func comparisonOf(f Compared) *Comparison { return &Comparison{Figures: []Compared{f}} }

func TestGates(t *testing.T) {
	f := Compared{Key: "p99", Ratio: 1.2, Low: 1.05, High: 1.4}
	for text, fails := range map[string]bool{
		"p99 ratio > 1.1": true, "p99 ratio > 1.2": false, "p99 ratio >= 1.2": true, "p99 ratio > 1.3": false,
		"p99 ratio surely > 1.1": false, "p99 ratio surely > 1.04": true, "p99 ratio surely >= 1.05": true,
		"p99 ratio possibly > 1.3": true, "p99 ratio possibly > 1.4": false, "p99  ratio\tpossibly >= 1.4": true,
		"p99 ratio < 1.3": true, "p99 ratio surely < 1.3": false, "p99 ratio surely < 1.5": true, "p99 ratio possibly < 1.1": true, "p99 ratio <= 1.2": true,
	} {
		err := comparisonOf(f).Err(gates(t, text))
		fatal.Same(t, (err != nil), fails, "%s: %v", text, err)
		if fails && (whittle.CodeOf(err) != whittle.FallsShort || !strings.Contains(err.Error(), "1.2 (1.05 to 1.4)")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestGatesOnWhatCannotBeSaid(t *testing.T) {
	nan, inf := Number(math.NaN()), Number(math.Inf(1))
	open := comparisonOf(Compared{Key: "errors", Ratio: nan, Low: 0, High: inf})
	unknown := comparisonOf(Compared{Key: "p99", Ratio: nan, Low: 0, High: inf, P: nan})
	const passes = whittle.Code(-1)
	for _, c := range []struct {
		what, gate string
		of         *Comparison
		want       whittle.Code
		says       string
	}{
		{"no errors on either side", "errors ratio > 1", open, passes, ""},
		{"an interval without bound", "errors ratio possibly > 2", open, whittle.FallsShort, ""},
		{"errors where A has none", "errors ratio > 1", comparisonOf(Compared{Key: "errors", Ratio: inf, High: inf}), whittle.FallsShort, ""},
		{"CPU that was not measured", "cpu ratio > 1", open, whittle.Invalid, ""},
		{"a ratio that is not known", "p99 ratio > 1", unknown, whittle.Unavailable, "cannot be decided"},
		{"a ratio that is not known", "p99 ratio < 1", unknown, whittle.Unavailable, "cannot be decided"},
		{"a ratio that is not known", "p99 ratio surely > 1", unknown, whittle.Unavailable, "cannot be decided"},
		{"a ratio that is not known", "p99 ratio possibly > 1", unknown, whittle.Unavailable, "cannot be decided"},
		{"errors of no requests", "errors ratio > 1", comparisonOf(Compared{Key: "errors", A: nan, Ratio: nan, P: 1, High: inf}), whittle.Unavailable, ""},
		{"a void comparison", "cpu ratio > 1", &Comparison{Void: "late"}, whittle.Unavailable, ""},
	} {
		err := c.of.Err(gates(t, c.gate))
		if (err == nil) != (c.want == passes) || err != nil && (whittle.CodeOf(err) != c.want || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s, %s: %v", c.what, c.gate, err)
		}
	}
}

// Whole runs have no interval of errors: surely would never
// stop anything, possibly always.
func TestGatesOnAnIntervalThatThereIsNone(t *testing.T) {
	for text, refused := range map[string]bool{
		"errors ratio surely > 1": true, "errors ratio possibly > 1": true, "errors ratio > 1": false, "p99 ratio surely > 1": false,
	} {
		g := gates(t, text)
		figures := []Compared{{Key: "p99", Ratio: 1, Low: 1, High: 1, P: 1}, {Key: "errors", A: .1, B: .1, Ratio: 1, High: Number(math.Inf(1)), P: Number(math.NaN())}}
		l := &LevelsReport{Levels: []Level{{Users: 1, Figures: figures}}}
		for _, err := range []error{l.Err(g), CheckUnpaired(g)} {
			coded, _ := errors.AsType[*whittle.Error](err)
			if (err != nil) != refused || refused && (coded.Code.ExitStatus() != 2 || !strings.Contains(coded.Hint, "errors ratio > 1")) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

func TestGatesThatAreNone(t *testing.T) {
	for _, text := range []string{
		"", "p99", "p99 ratio", "p99 ratio >", "p98 ratio > 1", "p99 diff > 1", "p99 ratio = 1", "p99 ratio > x", "p99 ratio > 0", "p99 ratio > -1",
		"p99 ratio > NaN", "p99 ratio > Inf", "p99 ratio maybe > 1", "p99 ratio surely > 1 2", strings.Repeat("p", 300),
	} {
		if g, err := ParseGates([]string{text}); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %+v, %v", text, g, err)
		}
	}
}

func FuzzGate(f *testing.F) {
	f.Add("p99 ratio surely > 1.1")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGates([]string{s})
		if err != nil {
			return
		}
		if g[0].String() != s || !(g[0].value > 0) {
			t.Errorf("%q became %+v", s, g)
		}
		_ = comparisonOf(Compared{Key: g[0].key, Ratio: 1, Low: .5, High: 2}).Err(g)
	})
}
