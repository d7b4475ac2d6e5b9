package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/profile"
)

var update = flag.Bool("update", false, "write the golden files")

// golden holds some output against a file.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		fatal.Write(t, path, got)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: write it with -update", err)
	}
	fatal.Same(t, got, want, "%s is not what it was; -update writes it anew", path)
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.MarshalIndent(v, "", "  ")
	fatal.If(t, err)
	return append(b, '\n')
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// monolith is what V8 saw of the count in Node: ten seconds, half a core.
func monolith() *profile.Profile {
	p := &profile.Profile{
		Kind: profile.CPU, Runtime: profile.Node, Began: began, Duration: 10 * time.Second, Service: "/srv/monolith/server.js",
		Functions: []profile.Function{
			{Name: "handler of POST /Count", File: "monolith/app.js", Line: 17},
			{Name: "handle", File: "node_modules/express/lib/router/layer.js", Line: 86, Owner: profile.Library},
			{Name: "(garbage collector)", Owner: profile.System, Category: profile.Collecting},
			{Name: "(idle)", Owner: profile.System, Category: profile.Idle},
			{Name: "handler of GET /", File: "monolith/app.js", Line: 13},
			{Name: "stringify", Owner: profile.System, Category: profile.Encoding},
		},
		Requests: map[string]int64{"POST /Count": 40, "GET /": 10},
	}
	add := func(n int, endpoint string, took time.Duration, stack ...profile.Frame) {
		for range n {
			p.Samples = append(p.Samples, profile.Sample{Stack: stack, Value: int64(took), Objects: 1, Endpoint: endpoint, At: time.Duration(len(p.Samples)) * 20 * time.Millisecond})
		}
	}
	add(200, "POST /Count", 20*time.Millisecond, profile.Frame{Function: 0, Line: 21}, profile.Frame{Function: 1})
	add(20, "POST /Count", 20*time.Millisecond, profile.Frame{Function: 2})
	add(20, "GET /", 10*time.Millisecond, profile.Frame{Function: 5}, profile.Frame{Function: 4, Line: 14}, profile.Frame{Function: 1})
	add(10, "", 20*time.Millisecond, profile.Frame{Function: 1, Line: 95})
	add(250, "", 20*time.Millisecond, profile.Frame{Function: 3})
	return p
}

// service is what pprof saw of the count in Go.
func service() *profile.Profile {
	p := &profile.Profile{
		Kind: profile.CPU, Runtime: profile.Go, Began: began, Duration: 10 * time.Second, Service: "count-as-published",
		Functions: []profile.Function{
			{Name: "whittle/systems/count/published.(*Counter).draw", File: "published/published.go", Line: 144},
			{Name: "math/rand.(*Rand).Int31n", File: "math/rand/rand.go", Line: 137, Owner: profile.Standard},
			{Name: "runtime.futex", File: "runtime/sys_linux_amd64.s", Line: 570, Owner: profile.System, Category: profile.Scheduling},
		},
		Requests: map[string]int64{"/twirp.carved.Carved/Count": 40},
	}
	const endpoint = "/twirp.carved.Carved/Count"
	p.Samples = []profile.Sample{
		{Value: 320e6, Objects: 320, Endpoint: endpoint, At: -1, Stack: []profile.Frame{{Function: 1, Line: 145}, {Function: 0, Line: 148}}},
		{Value: 60e6, Objects: 60, Endpoint: endpoint, At: -1, Stack: []profile.Frame{{Function: 0, Line: 148}}},
		{Value: 20e6, Objects: 20, At: -1, Stack: []profile.Frame{{Function: 2, Line: 570}}},
	}
	return p
}

func TestAReportInWords(t *testing.T) {
	r := New([]*profile.Profile{monolith()})
	r.Warnings = append(r.Warnings, "the profiling port can be reached from other machines")
	var text bytes.Buffer
	fatal.If(t, r.WriteSummary(&text))
	golden(t, "node.txt", text.Bytes())
	golden(t, "node.json", asJSON(t, r))
	fatal.Has(t, text.String(), r.Words)
}

func TestOtherKindsInWords(t *testing.T) {
	allocations := service()
	allocations.Kind = profile.Allocations
	r := New([]*profile.Profile{service(), allocations})
	var text bytes.Buffer
	fatal.If(t, r.WriteSummary(&text))
	golden(t, "go.txt", text.Bytes())
}

func TestNothingIsSaidOfNothing(t *testing.T) {
	idle := monolith()
	idle.Samples = idle.Samples[len(idle.Samples)-100:]
	fatal.Same(t, New([]*profile.Profile{idle}).Sentence(), "monolith/server.js used no CPU time that was seen.", "idle")
	foreign := service()
	foreign.Samples = foreign.Samples[2:]
	few := New([]*profile.Profile{foreign})
	if got := few.Sentence(); !strings.HasSuffix(got, "only 20 samples: too few to say what for.") {
		t.Errorf("no own code in 20 samples: %q", got)
	}
	var text bytes.Buffer
	if err := few.WriteSummary(&text); err != nil || strings.Contains(text.String(), "%") {
		t.Errorf("20 samples are given in percent, %v:\n%s", err, &text)
	}
	for i := range foreign.Samples {
		foreign.Samples[i].Objects *= 10
	}
	if got := New([]*profile.Profile{foreign}).Sentence(); !strings.HasSuffix(got, "none of it for code of its own.") {
		t.Errorf("no own code: %q", got)
	}
}

func TestAComparisonInWords(t *testing.T) {
	c := Compare(monolith(), service(), nil)
	var text bytes.Buffer
	fatal.If(t, c.WriteSummary(&text))
	golden(t, "diff.txt", text.Bytes())
	golden(t, "diff.json", asJSON(t, c))
	unknown := service()
	unknown.Requests = nil
	if c := Compare(monolith(), unknown, nil); c.PerRequest || !strings.Contains(c.Sentence(), "a second before in Node.js") {
		t.Errorf("without requests: %q", c.Sentence())
	}
}

// A profile of another kind says of what it is, with its own lines, not that there
// was no CPU time.
func TestOtherKindsStandByThemselves(t *testing.T) {
	functions := []profile.Function{{Name: "main.work", File: "/srv/main.go", Line: 3}, {Name: "strings.Repeat", Owner: profile.Standard}}
	stack := []profile.Frame{{Function: 1}, {Function: 0, Line: 7}}
	for kind, want := range map[profile.Kind]string{
		profile.Allocations: "This is a profile of allocated bytes, not of the CPU: 3.00 MB allocated in api. " +
			"100 % of it is asked for by one line: /srv/main.go:7, in main.work, 100 % by what it calls, strings.Repeat.",
		profile.Mutex: "of time at locks, not of the CPU: 0.003 s waited in api.",
	} {
		p := &profile.Profile{Kind: kind, Runtime: profile.Go, Service: "api", Functions: functions, Samples: []profile.Sample{{Value: 3e6, Stack: stack, At: -1}}}
		var words bytes.Buffer
		r := New([]*profile.Profile{p})
		fatal.If(t, r.WriteSummary(&words))
		fatal.Has(t, words.String(), want, "/srv/main.go:7", "strings.Repeat")
	}
}

// Few samples name no line, and a function whose line is not known is named with all of
// its lines.
func TestALineIsOnlyNamedWhereItIsKnown(t *testing.T) {
	p := monolith()
	p.Functions[0].Ends = 30
	for i := range p.Samples {
		if s := &p.Samples[i]; s.Stack[0].Function == 0 {
			s.Stack = []profile.Frame{{Function: 0}}
		}
	}
	r := New([]*profile.Profile{p})
	if want := "is asked for in one function: handler of POST /Count (monolith/app.js:17 to 30)"; !strings.Contains(r.Words, want) || !r.Sites[0].FunctionOnly {
		t.Errorf("%q, want %q", r.Words, want)
	}
	p.Samples = p.Samples[:60]
	if r := New([]*profile.Profile{p}); strings.Contains(r.Words, "asked for") || !strings.Contains(r.Words, "only 60 samples") {
		t.Errorf("60 samples say %q", r.Words)
	}
}

// Where most of the CPU is in threads that nobody looked into, the report says so next to
// whatever line it names.
func TestThreadsThatNobodySeesAreSaid(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Duration: time.Second, Functions: []profile.Function{{Name: "send", Owner: profile.Own}}}
	p.Samples = []profile.Sample{{Stack: []profile.Frame{{Line: 6}}, Value: int64(200 * time.Millisecond), Objects: 200}}
	said := func() bool {
		return slices.ContainsFunc(New([]*profile.Profile{p}).Warnings, func(w string) bool { return strings.Contains(w, "threads that V8 does not profile") })
	}
	if said() {
		t.Error("there are no other threads")
	}
	if p.AddOther("(other threads)", 800*time.Millisecond, 80); !said() {
		t.Error("it is not said")
	}
}

// So is it where requests were noted only for a part of the time.
func TestRequestsThatWereNotAllNotedAreSaid(t *testing.T) {
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Node, Cut: true}
	if got := New([]*profile.Profile{p}).Warnings; !slices.ContainsFunc(got, func(w string) bool { return strings.Contains(w, "only for a part of the time") }) {
		t.Errorf("warnings %q", got)
	}
}
