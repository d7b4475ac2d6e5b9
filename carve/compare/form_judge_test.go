package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/form"
)

// formExchange is the next one of two services with these fields.
func formExchange(w *comparetest.FormWorld, repeated bool, monolith, candidate []comparetest.Field) *whittle.Exchange {
	x := w.Next()
	x.Monolith = whittle.Response{Status: 200, Body: w.Body(form.Monolith, monolith)}
	x.Candidate = whittle.Response{Status: 200, Body: w.Body(form.Candidate, candidate)}
	if repeated {
		x.Repeat = &whittle.Response{Status: 200, Body: w.Body(form.Repeat, monolith)}
	}
	return x
}

// TestFormCoverage: the verdict names what it stands on, and an EQUIVALENT says it.
func TestFormCoverage(t *testing.T) {
	t.Parallel()
	c := comparetest.FormComparison
	c.Ignore = []string{"$.etag"}
	c.Forms = []whittle.FieldForm{{Path: "$.debug", Form: "any"}}
	j := judgeOf(t, c)
	w := comparetest.NewFormWorld(rand.New(rand.NewPCG(3, 4)))
	fields := append([]comparetest.Field{}, comparetest.FormFields[0], comparetest.FormFields[9], comparetest.Field{Name: "etag", Make: comparetest.FormFields[1].Make}, comparetest.Field{Name: "debug", Make: comparetest.FormFields[1].Make}) // uuid, expires
	for n := 1; n <= 2500; n++ {
		j.Observe(formExchange(w, n%10 == 0, fields, fields))
	}
	v := j.Verdict()
	const want = "1 field compared by value, 2 by form, each by itself, 3 not compared ($.debug, $.uuid (alphabet), $.etag)"
	got := v.Coverage
	if got == nil || got.ByValue != 1 || len(got.ByForm) != 2 || len(got.NotCompared) != 3 {
		t.Fatalf("got %+v", got)
	}
	slices.SortFunc(got.ByForm, func(a, b whittle.FormField) int { return strings.Compare(a.Path, b.Path) })
	if s := coverageWords(got); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
	if v.State != whittle.Equivalent || !strings.Contains(v.Summary, "2 by form, each by itself") {
		t.Errorf("%s: %+v %+v", v.Summary, v.Bounds, v.Findings)
	}
}

// TestWhatFormLeavesOutIsSaid: of moments that come again it is said that repetition is not compared,
// and of prices in texts that how they are spread is not.
func TestWhatFormLeavesOutIsSaid(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, comparetest.FormComparison)
	r := rand.New(rand.NewPCG(4, 5))
	for n := range 2500 {
		x := withBodies(n, 10, func(int) string {
			return fmt.Sprintf(`{"id":7,"slot":"2026-03-0%dT%02d:00:00Z","price":"%d.%02d"}`, 1+r.IntN(9), r.IntN(24), 10+r.IntN(10), r.IntN(100))
		})
		x.At = x.At.Add(time.Duration(n) * time.Second)
		j.Observe(x)
	}
	words := coverageWords(j.Verdict().Coverage)
	for _, want := range []string{"$.slot (repetition)", "$.price (spread)"} {
		if !strings.Contains(words, want) {
			t.Errorf("%s does not name %s", words, want)
		}
	}
}

// TestFormDeclared: a field that is declared as a class is compared by it from the
// first exchange on, and one that is declared to be compared by value is a difference
// though the monolith changes it.
func TestFormDeclared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		form, monolith, candidate string // fields of comparetest.FormFields
		state                     whittle.State
		kind                      whittle.FindingKind
	}{
		{"uuid", "uuid", "uuid", whittle.Equivalent, ""},
		{"uuid", "uuid", "hex", whittle.Different, whittle.FoundForm},
		{"any", "uuid", "hex", whittle.Equivalent, ""},
		{"value", "uuid", "uuid", whittle.Undecided, whittle.FoundField},
	} {
		cmp := comparetest.FormComparison
		cmp.Forms = []whittle.FieldForm{{Path: "$..id", Form: c.form}}
		j := judgeOf(t, cmp)
		w := comparetest.NewFormWorld(rand.New(rand.NewPCG(8, 8)))
		fieldOf := func(name string) []comparetest.Field {
			i := slices.IndexFunc(comparetest.FormFields, func(f comparetest.Field) bool { return f.Name == name })
			return []comparetest.Field{{Name: "id", Make: comparetest.FormFields[i].Make}}
		}
		for n := 1; n <= 2500; n++ {
			j.Observe(formExchange(w, n%10 == 0, fieldOf(c.monolith), fieldOf(c.candidate)))
		}
		v := j.Verdict()
		found := c.kind == "" || slices.ContainsFunc(v.Findings, func(f whittle.Finding) bool { return f.Kind == c.kind })
		if v.State != c.state || !found {
			t.Errorf("%s: %s: %+v %+v", c.form, v.Summary, v.Findings, v.Bounds)
		}
	}
	for _, bad := range []whittle.FieldForm{{Path: "id", Form: "uuid"}, {Path: "$.id", Form: "guid"}} {
		c := comparetest.FormComparison
		c.Forms = []whittle.FieldForm{bad}
		if _, err := NewJudge(c); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
