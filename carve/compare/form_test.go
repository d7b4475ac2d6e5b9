package compare

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/jsondiff"
)

var formComparison = whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300}

// TestFormsOfEqualServices: two services that make every kind of noise alike, with
// clocks up to two seconds apart, counters of their own and shared ones, caches and
// echoes, are called DIFFERENT for the form of a value in at most 1 of 100 runs,
// looked at after each exchange. Each run has six kinds of noise, drawn by chance.
// The level is that of a whole verdict, several times what forms may spend, so that
// what is not quite exchangeable (caches, a faster candidate) has room to show.
// FORM_RUNS=2000 makes the runs that docs/compare.md states, of 2,000 exchanges.
func TestFormsOfEqualServices(t *testing.T) {
	t.Parallel()
	runs, length := 150, 400
	if n, err := strconv.Atoi(os.Getenv("FORM_RUNS")); err == nil {
		runs, length = n, 2000
	}
	of := map[string]int{}
	alarms := 0
	for run := range runs {
		alarmed := false
		for _, x := range equalRun(t, uint64(run), length) {
			if x.Decided {
				alarmed = true
				of[x.Path]++
				t.Logf("run %d: %s", run, x.Summary)
			}
		}
		alarms += int(eprocess.Indicator(alarmed))
	}
	t.Logf("%d of %d runs of %d exchanges called different: %v", alarms, runs, length, of)
	if alarms > max(1, runs/100) {
		t.Errorf("%d of %d equal candidates are called different", alarms, runs)
	}
}

// equalRun gives the findings after a run of equal services. What was once decided
// stays so but for what bySecond excuses.
func equalRun(t *testing.T, seed uint64, length int) []whittle.Finding {
	t.Helper()
	w := newFormWorld(rand.New(rand.NewPCG(seed, 77)))
	f := formsOf(t, formComparison)
	var fields []field
	for _, i := range w.r.Perm(len(formFields))[:6] {
		k := formFields[i]
		fields = append(fields, k)
		path, way := "$."+k.name, jsondiff.HowValue
		switch k.name {
		case "list":
			path = "$.list[*]"
			f.take(noiseKey{"$.list", jsondiff.HowLength}, 0)
		case "maybe":
			f.take(noiseKey{path, jsondiff.WayPresence}, 0)
		}
		f.take(noiseKey{path, way}, 0)
	}
	for n := 1; n <= length; n++ {
		x := w.next()
		x.Monolith.Body, x.Candidate.Body = w.body(ofMonolith, fields), w.body(ofCandidate, fields)
		var repeat []byte
		if n%20 == 1 {
			repeat = w.body(ofRepeat, fields)
		}
		f.see(x, repeat, 0.01, n)
	}
	return f.findings()
}

func formsOf(t testing.TB, c whittle.Comparison) *forms {
	t.Helper()
	f, err := newForms(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFormWords: what is said of each kind of noise.
func TestFormWords(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"uuid": "a new UUID v4 each time", "hex": "hexadecimal, new each time", "ulid": "a new ULID each time",
		"prefixed": "a new prefixed id (letters and digits) each time", "now": "a time as RFC 3339 in milliseconds, Z, now",
		"expires": "a time as RFC 3339 in seconds, Z, 15 min ahead", "millis": "a time as milliseconds since 1970, now",
		"http": "a time as an HTTP date, now", "day": "a time as a date", "shared": "an integer, rising", "own": "an integer, rising",
		"number": "a prefixed id (digits), rising", "text": "text, new each time", "word": "one of 4 words",
		"price": "a new number with one or two decimals each time", "took": "an integer", "cached": "a UUID v4",
		"hit": "one word, always the same in first responses", "null": "null or a UUID v7, new each time",
	}
	w := newFormWorld(rand.New(rand.NewPCG(1, 2)))
	f := formsOf(t, formComparison)
	for _, k := range formFields {
		f.take(noiseKey{"$." + k.name, jsondiff.HowValue}, 0)
	}
	for n := 1; n <= 100; n++ {
		x := w.next()
		x.Monolith.Body, x.Candidate.Body = w.body(ofMonolith, formFields), w.body(ofCandidate, formFields)
		f.see(x, nil, 0.01, n)
	}
	for _, p := range f.paths {
		if is := want[strings.TrimPrefix(p.path, "$.")]; is != "" && is != p.words() {
			t.Errorf("%s is %q, not %q", p.path, p.words(), is)
		}
	}
}

// TestFormCoverage: the verdict names what it stands on, and an EQUIVALENT says it.
func TestFormCoverage(t *testing.T) {
	t.Parallel()
	c := formComparison
	c.Ignore = []string{"$.etag"}
	c.Forms = []whittle.FieldForm{{Path: "$.debug", Form: "any"}}
	j, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	w := newFormWorld(rand.New(rand.NewPCG(3, 4)))
	fields := append([]field{}, formFields[0], formFields[9], field{"etag", formFields[1].make}, field{"debug", formFields[1].make}) // uuid, expires
	for n := 1; n <= 2500; n++ {
		x := w.next()
		x.Monolith = whittle.Response{Status: 200, Body: w.body(ofMonolith, fields)}
		x.Candidate = whittle.Response{Status: 200, Body: w.body(ofCandidate, fields)}
		if n%10 == 0 {
			x.Repeat = &whittle.Response{Status: 200, Body: w.body(ofRepeat, fields)}
		}
		j.Observe(x)
	}
	v := j.Verdict()
	const want = "1 field compared by value, 2 by form ($.expires: a time as RFC 3339 in seconds, Z, 15 min ahead; $.uuid: a new UUID v4 each time), 2 not compared"
	got := v.Coverage
	if got == nil || got.ByValue != 1 || len(got.ByForm) != 2 || len(got.NotCompared) != 2 {
		t.Fatalf("got %+v", got)
	}
	slices.SortFunc(got.ByForm, func(a, b whittle.FormField) int { return strings.Compare(a.Path, b.Path) })
	if s := coverageWords(got); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if v.State != whittle.Equivalent || !strings.Contains(v.Summary, "2 by form (") {
		t.Errorf("%s: %+v %+v", v.Summary, v.Bounds, v.Findings)
	}
}

// TestFormDeclared: a field that is declared as a class is compared by it from the
// first exchange on, and one that is declared to be compared by value is a difference
// though the monolith changes it.
func TestFormDeclared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form, monolith, candidate string // fields of formFields
		state                     whittle.State
		kind                      whittle.FindingKind
	}{
		{"uuid", "uuid", "uuid", whittle.Equivalent, ""},
		{"uuid", "uuid", "hex", whittle.Different, whittle.FoundForm},
		{"any", "uuid", "hex", whittle.Equivalent, ""},
		{"value", "uuid", "uuid", whittle.Undecided, whittle.FoundField},
	} {
		cmp := formComparison
		cmp.Forms = []whittle.FieldForm{{Path: "$..id", Form: c.form}}
		j, err := NewJudge(cmp)
		if err != nil {
			t.Fatal(err)
		}
		w := newFormWorld(rand.New(rand.NewPCG(8, 8)))
		fieldOf := func(name string) []field {
			i := slices.IndexFunc(formFields, func(f field) bool { return f.name == name })
			return []field{{"id", formFields[i].make}}
		}
		for n := 1; n <= 2500; n++ {
			x := w.next()
			x.Monolith = whittle.Response{Status: 200, Body: w.body(ofMonolith, fieldOf(c.monolith))}
			x.Candidate = whittle.Response{Status: 200, Body: w.body(ofCandidate, fieldOf(c.candidate))}
			if n%10 == 0 {
				x.Repeat = &whittle.Response{Status: 200, Body: w.body(ofRepeat, fieldOf(c.monolith))}
			}
			j.Observe(x)
		}
		v := j.Verdict()
		found := c.kind == "" || slices.ContainsFunc(v.Findings, func(f whittle.Finding) bool { return f.Kind == c.kind })
		if v.State != c.state || !found {
			t.Errorf("%s: %s: %+v %+v", c.form, v.Summary, v.Findings, v.Bounds)
		}
	}
	for _, bad := range []whittle.FieldForm{{Path: "id", Form: "uuid"}, {Path: "$.id", Form: "guid"}} {
		c := formComparison
		c.Forms = []whittle.FieldForm{bad}
		if _, err := NewJudge(c); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// TestFormIntended: another form that is declared as a difference stays visible and
// makes nobody DIFFERENT.
func TestFormIntended(t *testing.T) {
	t.Parallel()
	c := formComparison
	c.Expect = []whittle.Expectation{{Kind: whittle.FoundForm, Path: "$.uuid", Reason: "v7 sorts by time"}}
	f := formsOf(t, c)
	f.take(noiseKey{"$.uuid", jsondiff.HowValue}, 0)
	w := newFormWorld(rand.New(rand.NewPCG(8, 8)))
	for n := 1; n <= 100; n++ {
		x := w.next()
		x.Monolith.Body = w.body(ofMonolith, formFields[:1])
		x.Candidate.Body = []byte(`{"uuid":"` + w.uuid("7") + `"}`)
		f.see(x, nil, 0.01, n)
	}
	list := f.findings()
	if len(list) != 1 || list[0].Decided || list[0].Expected != "v7 sorts by time" || list[0].Count < 90 {
		t.Errorf("got %+v", list)
	}
	if _, _, waits := f.bound(100); waits {
		t.Error("a declared difference keeps EQUIVALENT from being said")
	}
}

// TestFormState: what is kept is what is restored, without any value, in bounded
// length however many places vary.
func TestFormState(t *testing.T) {
	t.Parallel()
	f := formsOf(t, formComparison)
	f.show = &display.View{}
	w := newFormWorld(rand.New(rand.NewPCG(1, 9)))
	fields := slices.Clone(formFields)
	for i := range 2 * formPaths {
		fields = append(fields, field{"f" + strconv.Itoa(i), func(w *formWorld, _ int) string { return quotedJSON(w.of(base62, w.r.IntN(70))) }})
	}
	for _, k := range fields {
		f.take(noiseKey{"$." + k.name, jsondiff.HowValue}, 0)
	}
	if len(f.paths) != formPaths || f.over != len(fields)-formPaths {
		t.Fatalf("%d places, %d beyond", len(f.paths), f.over)
	}
	var last []byte
	for n := 1; n <= 300; n++ {
		x := w.next()
		x.Monolith.Body, x.Candidate.Body = w.body(ofMonolith, fields), w.body(ofCandidate, fields)
		last = x.Monolith.Body
		f.see(x, nil, 0.01, n)
	}
	b := f.state()
	if len(b) == 0 || len(b) > formStateMost {
		t.Fatalf("the state has %d bytes", len(b))
	}
	for _, name := range []string{"uuid", "prefixed", "ulid"} {
		_, rest, _ := strings.Cut(string(last), `"`+name+`":"`)
		if v, _, _ := strings.Cut(rest, `"`); len(v) < 8 || strings.Contains(string(b), v) {
			t.Errorf("the state has the value %q", v)
		}
	}
	g := formsOf(t, formComparison)
	g.show = &display.View{}
	if err := g.restore(b, 300); err != nil {
		t.Fatal(err)
	}
	if again := g.state(); string(again) != string(b) {
		t.Error("what was restored is not what was kept")
	}
	for _, bad := range []string{`{`, `{"paths":[{"p":"$.a","born":500}]}`, `{"paths":[{"p":"$.a","f":[{"b":{"now":2,"peak":1}}]}]}`} {
		if err := g.restore([]byte(bad), 300); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
