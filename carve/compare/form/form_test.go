package form

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

func TestMain(m *testing.M) { simtest.Main(m) }

// TestFormsOfEqualServices: two services that make every kind of noise alike, with
// clocks up to two seconds apart, counters of their own and shared ones and caches,
// are called DIFFERENT for the form of a value in at most 1 of 100 runs,
// looked at after each exchange. Each run has six kinds of noise, drawn by chance.
// The level is that of a whole verdict, several times what forms may spend, so that
// what is not quite exchangeable (caches, a faster candidate) has room to show.
// A correct implementation may show 0.1 % (simtest.Rate).
func TestFormsOfEqualServices(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.01, 0.001).Play(t, "called different", func(run int) bool {
		alarmed := false
		for _, x := range equalRun(t, uint64(run), 400) {
			if alarmed = alarmed || x.Decided; x.Decided {
				t.Logf("run %d: %s", run, x.Summary)
			}
		}
		return alarmed
	})
}

// equalRun gives the findings after a run of equal services. What was once decided
// stays so but for what bySecond excuses.
func equalRun(t *testing.T, seed uint64, length int) []whittle.Finding {
	t.Helper()
	w := comparetest.NewFormWorld(rand.New(rand.NewPCG(seed, 77)))
	f := formsOf(t, comparetest.FormComparison)
	var fields []comparetest.Field
	for _, i := range w.R.Perm(len(comparetest.FormFields))[:6] {
		k := comparetest.FormFields[i]
		fields = append(fields, k)
		path, way := "$."+k.Name, jsondiff.HowValue
		switch k.Name {
		case "list":
			path = "$.list[*]"
			f.take(noise.Key{Path: "$.list", Way: jsondiff.HowLength}, 0)
		case "maybe":
			f.take(noise.Key{Path: path, Way: jsondiff.WayPresence}, 0)
		}
		f.take(noise.Key{Path: path, Way: way}, 0)
	}
	for n := 1; n <= length; n++ {
		x := w.Next()
		x.Monolith.Body, x.Candidate.Body = w.Body(Monolith, fields), w.Body(Candidate, fields)
		var repeat []byte
		if n%20 == 1 {
			repeat = w.Body(Repeat, fields)
		}
		f.See(x, repeat, 0.01, n)
	}
	return f.Findings()
}

func formsOf(t testing.TB, c whittle.Comparison) *Forms {
	t.Helper()
	f, err := New(c)
	fatal.If(t, err)
	return f
}

// TestFormWords: what is said of each kind of noise.
func TestFormWords(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"uuid": "a UUID v4, new each time", "hex": "hexadecimal, new each time", "prefixed": "a prefixed id (letters and digits in mixed case), new each time",
		"now": "a time as 2006-01-02T15:04:05.000Z, new each time", "day": "a time as 2006-01-02",
		"own": "an integer, new each time", "word": "a word", "cached": "a UUID v4", "null": "null or another form, new each time",
	}
	w := comparetest.NewFormWorld(rand.New(rand.NewPCG(1, 2)))
	f := formsOf(t, comparetest.FormComparison)
	for _, k := range comparetest.FormFields {
		f.take(noise.Key{Path: "$." + k.Name, Way: jsondiff.HowValue}, 0)
	}
	for n := 1; n <= 100; n++ {
		x := w.Next()
		x.Monolith.Body, x.Candidate.Body = w.Body(Monolith, comparetest.FormFields), w.Body(Candidate, comparetest.FormFields)
		f.See(x, nil, 0.01, n)
	}
	for _, p := range f.paths {
		if is := want[strings.TrimPrefix(p.Path, "$.")]; is != "" && is != p.words() {
			t.Errorf("%s is %q, not %q", p.Path, p.words(), is)
		}
	}
}

// TestFormIntended: another form of a class that is declared makes nobody DIFFERENT, and is
// waited for no longer than until it was compared often enough.
func TestFormIntended(t *testing.T) {
	t.Parallel()
	c := comparetest.FormComparison
	c.Forms = []whittle.FieldForm{{Path: "$.uuid", Form: "uuid"}}
	f := formsOf(t, c)
	f.take(noise.Key{Path: "$.uuid", Way: jsondiff.HowValue}, 0)
	w := comparetest.NewFormWorld(rand.New(rand.NewPCG(8, 8)))
	for n := 1; n <= 100; n++ {
		x := w.Next()
		x.Monolith.Body = w.Body(Monolith, comparetest.FormFields[:1])
		x.Candidate.Body = []byte(`{"uuid":"` + w.UUID("7") + `"}`)
		f.See(x, nil, 0.01, n)
	}
	if list := f.Findings(); len(list) > 0 {
		t.Errorf("got %+v", list)
	}
	if _, waits := f.Bound(100); waits {
		t.Error("a declared form keeps EQUIVALENT from being said")
	}
}

// TestFormState: what is kept is what is restored, without any value, in bounded
// length however many places vary.
func TestFormState(t *testing.T) {
	t.Parallel()
	f := formsOf(t, comparetest.FormComparison)
	f.Show = &display.View{}
	w := comparetest.NewFormWorld(rand.New(rand.NewPCG(1, 9)))
	fields := slices.Clone(comparetest.FormFields)
	for i := range 2 * most {
		fields = append(fields, comparetest.Field{Name: "f" + strconv.Itoa(i), Make: func(w *comparetest.FormWorld, _ int) string {
			return comparetest.QuotedJSON(w.Of(comparetest.Base62, w.R.IntN(70)))
		}})
	}
	for _, k := range fields {
		f.take(noise.Key{Path: "$." + k.Name, Way: jsondiff.HowValue}, 0)
	}
	if len(f.paths) != most || f.over != len(fields)-most {
		t.Fatalf("%d places, %d beyond", len(f.paths), f.over)
	}
	var last []byte
	for n := 1; n <= 300; n++ {
		x := w.Next()
		x.Monolith.Body, x.Candidate.Body = w.Body(Monolith, fields), w.Body(Candidate, fields)
		last = x.Monolith.Body
		f.See(x, nil, 0.01, n)
	}
	b := stateOf(t, f)
	if len(b) == 0 || len(b) > stateMost {
		t.Fatalf("the state has %d bytes", len(b))
	}
	for _, name := range []string{"uuid", "prefixed", "ulid"} {
		_, rest, _ := strings.Cut(string(last), `"`+name+`":"`)
		if v, _, _ := strings.Cut(rest, `"`); len(v) < 8 || strings.Contains(string(b), v) {
			t.Errorf("the state has the value %q", v)
		}
	}
	g := formsOf(t, comparetest.FormComparison)
	g.Show = &display.View{}
	fatal.If(t, g.UnmarshalJSON(b))
	fatal.Same(t, string(stateOf(t, g)), string(b), "what was restored")
	if err := g.UnmarshalJSON([]byte("{")); err == nil {
		t.Error("half a state is taken")
	}
}

func stateOf(t *testing.T, f *Forms) []byte {
	t.Helper()
	b, err := f.MarshalJSON()
	fatal.If(t, err)
	return b
}
