package compare

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/form"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
	"whittle/internal/units"
)

type formWorld = comparetest.FormWorld

// formMutation is a candidate that makes one field otherwise.
type formMutation struct {
	name, field string
	make        func(w *formWorld) string
}

// quoted is a candidate's value that is a text of JSON.
func quoted(text func(w *formWorld) string) func(w *formWorld) string {
	return func(w *formWorld) string { return comparetest.QuotedJSON(text(w)) }
}

// always is a candidate's value that is ever the same.
func always(json string) func(w *formWorld) string { return func(*formWorld) string { return json } }

// seldom is the one value in one of so many responses, and the other one otherwise.
func seldom(n int, one, other func(w *formWorld) string) func(w *formWorld) string {
	return func(w *formWorld) string { return either(w.R.IntN(n) == 0, one, other)(w) }
}

// aged is a candidate's time, off by d, in a layout.
func aged(layout string, d time.Duration) func(w *formWorld) string {
	return quoted(func(w *formWorld) string { return w.Clock(form.Candidate).Add(d).UTC().Format(layout) })
}

const (
	formBase62 = comparetest.Base62
	formID     = `"11111111-2222-4333-a444-555555555555"`
	formMillis = "2006-01-02T15:04:05.000Z"
)

var formMutations = []formMutation{
	{"a constant id", "uuid", always(formID)},
	{"ids out of a pool of 20", "uuid", quoted(func(w *formWorld) string { return fmt.Sprintf("%08x-2222-4333-a444-555555555555", w.R.IntN(20)) })},
	{"a UUID v7 instead of v4", "uuid", quoted(func(w *formWorld) string { return w.UUID("7") })},
	{"a UUID in upper case", "uuid", quoted(func(w *formWorld) string { return strings.ToUpper(w.UUID("4")) })},
	{"a UUID without dashes", "uuid", quoted(func(w *formWorld) string { return w.Hex(32) })},
	{"a number instead of a UUID", "uuid", func(w *formWorld) string { return strconv.Itoa(w.R.IntN(1e9)) }},
	{"an empty string", "uuid", always(`""`)},
	{"null", "uuid", always("null")},
	{"the user's id", "uuid", quoted(func(w *formWorld) string { return fmt.Sprintf("u-%d", 1000+w.Key) })},
	{"an id of 4 characters instead of 8", "hex", quoted(func(w *formWorld) string { return w.Hex(4) })},
	{"an id of 7 characters instead of 8", "hex", quoted(func(w *formWorld) string { return w.Hex(7) })},
	{"hexadecimal in upper case", "hex", quoted(func(w *formWorld) string { return strings.ToUpper(w.Hex(8)) })},
	{"a truncated nano id", "nano", quoted(func(w *formWorld) string { return w.Of(formBase62+"-_", 16) })},
	{"base64 instead of base64url", "base64", quoted(func(w *formWorld) string { return w.Of(formBase62, 20) + "-_" + w.Of(formBase62, 5) })},
	{"another prefix", "prefixed", quoted(func(w *formWorld) string { return "order_" + w.Of(formBase62, 14) })},
	{"no prefix", "prefixed", quoted(func(w *formWorld) string { return w.Of(formBase62, 14) })},
	{"a ULID in lower case", "ulid", quoted(func(w *formWorld) string { return strings.ToLower("01J" + w.Of(comparetest.Crockford, 23)) })},
	{"expired: a date two days in the past", "expires", aged(time.RFC3339, -48*time.Hour)},
	{"expires in 5 minutes instead of 15", "expires", aged(time.RFC3339, 5*time.Minute)},
	{"expires an hour later", "expires", aged(time.RFC3339, 75*time.Minute)},
	{"a time without a zone", "now", aged("2006-01-02T15:04:05.000", 0)},
	{"local time marked as UTC", "now", aged(formMillis, 2*time.Hour)},
	{"a zone of +02:00", "now", quoted(func(w *formWorld) string {
		return w.Clock(form.Candidate).In(time.FixedZone("", 7200)).Format("2006-01-02T15:04:05.000-07:00")
	})},
	{"seconds instead of milliseconds", "now", aged("2006-01-02T15:04:05Z", 0)},
	{"an HTTP date instead of RFC 3339", "now", aged("Mon, 02 Jan 2006 15:04:05 GMT", 0)},
	{"a time that stands still", "now", quoted(always(simtest.Start.Format(formMillis)))},
	{"the zero time", "now", always(`"0001-01-01T00:00:00.000Z"`)},
	{"seconds since 1970 instead of milliseconds", "millis", func(w *formWorld) string { return strconv.FormatInt(w.Clock(form.Candidate).Unix(), 10) }},
	{"milliseconds in a string", "millis", quoted(func(w *formWorld) string { return strconv.FormatInt(w.Clock(form.Candidate).UnixMilli(), 10) })},
	{"a counter that stands still", "own", always("7")},
	{"a counter as a string", "own", quoted(func(w *formWorld) string { w.Own[1]++; return strconv.Itoa(w.Own[1]) })},
	{"a word that the monolith never says", "word", always(`"pending"`)},
	{"such a word in 1 of 5", "word", seldom(5, always(`"pending"`), quoted(func(w *formWorld) string { return comparetest.FormWords[w.R.IntN(2)] }))},
	{"words in upper case", "word", quoted(func(w *formWorld) string { return strings.ToUpper(comparetest.FormWords[w.R.IntN(4)]) })},
	{"a flag as a word", "flag", always(`"false"`)},
	{"an amount with six decimals", "price", func(w *formWorld) string { return fmt.Sprintf("%.6f", w.R.ExpFloat64()*40+1.0000001) }},
	{"an amount as a string", "price", quoted(func(w *formWorld) string { return fmt.Sprintf("%.2f", w.R.ExpFloat64()*40) })},
	{"a constant id in 1 of 10", "uuid", seldom(10, always(formID), quoted(func(w *formWorld) string { return w.UUID("4") }))},
}

// shownAfter is how many exchanges after the field's noise was learned the verdict is
// DIFFERENT for its form; most where it is not.
func (mu *formMutation) shownAfter(t *testing.T, seed uint64, most int) int {
	t.Helper()
	j := judgeOf(t, comparetest.FormComparison)
	w := comparetest.NewFormWorld(rand.New(rand.NewPCG(seed, 5)))
	usual, other := formFields(mu.field), formFields(mu.field)
	other[0].Make = func(w *formWorld, _ int) string { return mu.make(w) }
	learned := 0
	for n := 1; n < most; n++ {
		j.Observe(formExchange(w, n%20 == 10, usual, other))
		if learned == 0 && len(j.Noise()) > 0 {
			learned = n
		}
		for _, f := range j.mirrored.match.forms.Findings() {
			if f.Decided {
				fatal.Same(t, j.Verdict().State, whittle.Different, "%s: shown, but the verdict", mu.name)
				return n - learned
			}
		}
	}
	return most
}

const (
	formsTable      = "testdata/forms.md"
	formTableStart  = "<!-- forms: go test ./carve/compare -run TestTableOfForms -update -->\n"
	formTableFinish = "<!-- end of forms -->\n"
)

// TestTableOfForms: what a candidate can do wrong where the monolith makes a new
// value each time, and after how many exchanges since that was learned it is shown,
// in the middle of 21 runs and in 20 of them. The table testdata/forms.md is that of
// this program, to the digit. All are shown in each run.
func TestTableOfForms(t *testing.T) {
	t.Parallel()
	const runs, most = 21, 1500
	var b strings.Builder
	b.WriteString("| the monolith's value | the candidate's | exchanges, middle run | in 19 of 20 runs |\n|---|---|---:|---:|\n")
	words := func(n int) string {
		if n >= most {
			return "more than " + units.Grouped(most)
		}
		return units.Grouped(n)
	}
	for i := range formMutations {
		mu := &formMutations[i]
		var after []int
		for seed := range runs {
			after = append(after, mu.shownAfter(t, uint64(seed), most))
		}
		slices.Sort(after)
		if after[runs-1] >= most {
			t.Errorf("%s: not shown within %d exchanges", mu.name, most)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", formNames[mu.field], mu.name, words(after[runs/2]), words(after[runs-2]))
	}
	simtest.InDoc(t, formsTable, formTableStart, formTableFinish, b.String())
}

// formNames say what the monolith makes.
var formNames = map[string]string{
	"uuid": "a UUID v4", "hex": "8 hexadecimal digits", "nano": "a nano id of 21", "base64": "base64", "prefixed": "`ord_` and 14 characters",
	"ulid": "a ULID", "expires": "a time 15 min ahead", "now": "now, in milliseconds", "millis": "milliseconds since 1970", "own": "a counter",
	"word": "one of four words", "flag": "true or false", "price": "an amount",
}

// formFields are those of some names.
func formFields(names ...string) (list []comparetest.Field) {
	for _, name := range names {
		i := slices.IndexFunc(comparetest.FormFields, func(f comparetest.Field) bool { return f.Name == name })
		list = append(list, comparetest.FormFields[i])
	}
	return list
}

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
	fields := formFields("uuid", "expires", "hex", "hex")
	fields[2].Name, fields[3].Name = "etag", "debug"
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
	fatal.Same(t, coverageWords(got), want, "the coverage")
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
	fatal.Has(t, words, "$.slot (repetition)", "$.price (spread)")
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
			list := formFields(name)
			list[0].Name = "id"
			return list
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

// TestADeclaredFormExcusesNoOther: that another form is declared at one place has no candidate called
// EQUIVALENT that draws other numbers at another place.
func TestADeclaredFormExcusesNoOther(t *testing.T) {
	t.Parallel()
	c := testMatch
	c.Forms = []whittle.FieldForm{{Path: "$.quote_id", Form: "any"}}
	j := judgeOf(t, c)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 4000 {
		x := withBodies(i, 20, func(side int) string {
			return fmt.Sprintf(`{"a":1,"quote_id":"%08x","x":%d}`, r.Uint32(), []int{500, 600, 500}[side]+r.IntN(500))
		})
		x.At = simtest.Start.Add(time.Duration(i) * 100 * time.Millisecond)
		if j.Observe(x); i%50 != 49 {
			continue
		}
		if v := j.Verdict(); v.State == whittle.Equivalent {
			t.Fatalf("after %d: %s\n%+v", i+1, v.Summary, v.Findings)
		}
	}
}
