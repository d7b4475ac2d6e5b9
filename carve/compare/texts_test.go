package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// TestWhatIsNotComparedIsNotEquivalent: where the monolith changes the whole of its
// responses, no candidate is EQUIVALENT, be it right or wrong, since nothing was held
// against anything; and the verdict says why.
func TestWhatIsNotComparedIsNotEquivalent(t *testing.T) {
	t.Parallel()
	words := []string{"alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta"}
	text := func(n int) string { return words[n%7] + " " + words[(n/7)%7] + " " + words[(n/3)%7] }
	steady := func(int) string { return "The same for all" }
	changing := func(n int) string { return "Rendered " + text(n) }
	wrong := func(n int) string { return "Refusals " + text(n) }
	total := func(of int) func(int) string {
		return func(n int) string { return fmt.Sprintf(`%016x":{"total":%d`, n*0x9e3779b97f4a7c1, of) }
	}
	for _, c := range []struct {
		kind                whittle.CompareKind
		body                string
		ignored             string // a pattern
		monolith, candidate func(n int) string
		state               whittle.State
		why                 string // in a bound's or a finding's words
	}{
		{whittle.JSON, "<p>%s.", "", steady, steady, whittle.Equivalent, ""},
		{whittle.Exact, "<p>%s.", "", steady, steady, whittle.Equivalent, ""},
		{whittle.JSON, "<p>%s.", "", changing, changing, whittle.Undecided, "what is not JSON is compared as a whole"},
		{whittle.JSON, "<p>%s.", "", changing, wrong, whittle.Undecided, "what is not JSON is compared as a whole"},
		{whittle.JSON, "<p>%s.", "", steady, wrong, whittle.Different, ""},
		{whittle.Exact, "<p>%s.", "", changing, changing, whittle.Undecided, "no candidate can give the same bytes"},
		{whittle.Exact, "<p>%s.", "", changing, wrong, whittle.Undecided, "no candidate can give the same bytes"},
		{whittle.Exact, "<p>%s.", "", steady, wrong, whittle.Different, ""},
		{whittle.JSON, `{"html":"%s"}`, "", changing, changing, whittle.Undecided, "no value of the bodies is compared: $.html is text without a form"},
		{whittle.JSON, `{"html":"%s"}`, "", changing, wrong, whittle.Undecided, "no value of the bodies is compared"},
		{whittle.JSON, `["%s"]`, "", changing, wrong, whittle.Undecided, "no value of the bodies is compared"},
		{whittle.JSON, `"%s"`, "", changing, wrong, whittle.Undecided, "no value of the bodies is compared"},
		{whittle.JSON, `{"id":1,"html":"%s"}`, "", changing, changing, whittle.Equivalent, ""},
		{whittle.JSON, `{"%s}}`, "", total(1), total(1), whittle.Undecided, "no value of the bodies is compared: $.* is members whose names vary"},
		{whittle.JSON, `{"%s}}`, "", total(1), total(2), whittle.Undecided, "no value of the bodies is compared: $.* is members whose names vary"},
		{whittle.JSON, `{"id":1,"%s}}`, "", total(1), total(1), whittle.Equivalent, "$.*: members whose names vary"},
		{whittle.JSON, "%.0s", "", steady, steady, whittle.Equivalent, ""}, // no body
		{whittle.JSON, "<p>%s.", `\w+ \w+ \w+\.`, changing, changing, whittle.Equivalent, "text that matches is ignored"},
		{whittle.JSON, "<p>%s.", `Rendered (\w+ \w+ \w+)\.`, changing, wrong, whittle.Different, ""},
		{whittle.Exact, "<p>%s.", `Rendered (\w+ \w+ \w+)\.`, changing, changing, whittle.Equivalent, "text that matches is ignored"},
		{whittle.Exact, "<p>%s.", `Rendered (\w+ \w+ \w+)\.`, changing, wrong, whittle.Different, ""},
	} {
		compared := whittle.Comparison{Kind: c.kind, LearnNoise: true, Confidence: 0.99, MinCompared: 300}
		if c.ignored != "" {
			compared.IgnoreText = []string{c.ignored}
		}
		j := judgeOf(t, compared)
		for n := range 2500 {
			j.Observe(withBodies(n, 10, func(side int) string {
				of := [...]func(int) string{c.monolith, c.candidate, c.monolith}[side]
				return fmt.Sprintf(c.body, of(drawAt(n, side)))
			}))
		}
		v := j.Verdict()
		said := v.Summary
		if v.Coverage != nil {
			for _, x := range v.Coverage.NotCompared {
				said += "\n" + x.Path + ": " + x.Reason
			}
		}
		for _, b := range v.Bounds {
			said += "\n" + b.Summary
		}
		for _, f := range v.Findings {
			said += "\n" + f.Summary + "\n" + f.Cause
		}
		if v.State != c.state || !strings.Contains(said, c.why) {
			t.Errorf("%s %q: want %s\n%s", c.kind, c.body, c.state, said)
		}
	}
}

// drawAt is another number for each response.
func drawAt(n, side int) int { return (n+1)*[]int{31, 17, 53}[side] + side/2 }

// TestWhatCouldBeIgnored: of a page that the monolith changes by itself the finding
// proposes what to ignore. With that in the config a right candidate is EQUIVALENT and a
// wrong one DIFFERENT.
func TestWhatCouldBeIgnored(t *testing.T) {
	t.Parallel()
	judge := func(kind whittle.CompareKind, patterns []string, total int) whittle.Verdict {
		j := judgeOf(t, whittle.Comparison{Kind: kind, LearnNoise: true, Confidence: 0.99, MinCompared: 300, IgnoreText: patterns})
		for n := range 1500 {
			j.Observe(withBodies(n, 10, func(side int) string {
				at := drawAt(n, side)
				return fmt.Sprintf(`<input type="hidden" name="csrf" value="%016x"><p>%d</p> Rendered in %d ms`,
					uint64(at)*0x9e3779b97f4a7c15, []int{7, total, 7}[side], at%90+1)
			}))
		}
		return j.Verdict()
	}
	for _, kind := range []whittle.CompareKind{whittle.JSON, whittle.Exact} {
		v := judge(kind, nil, 7)
		want := `name what changes in compare.ignore_text`
		if v.State != whittle.Undecided || len(v.Findings) != 1 || !strings.Contains(v.Findings[0].Cause, want) {
			t.Fatalf("%s: %+v", v.State, v.Findings)
		}
		patterns := []string{`<input\s+type="hidden"\s+name="csrf"\s+value="([^"]*)`, `</p>\s+Rendered\s+in\s+(\d+)`}
		if v := judge(kind, patterns, 7); v.State != whittle.Equivalent {
			t.Errorf("%s: right, and %s: %s", kind, v.State, v.Summary)
		}
		if v := judge(kind, patterns, 8); v.State != whittle.Different {
			t.Errorf("%s: wrong, and %s: %s", kind, v.State, v.Summary)
		}
	}
}

// TestNothingButErrors: a verdict over errors alone says so, also after a restart, and one
// with a success among them does not.
func TestNothingButErrors(t *testing.T) {
	t.Parallel()
	c := whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300}
	j := judgeOf(t, c)
	const said = "each of the monolith's responses was an error"
	if v := j.Verdict(); strings.Contains(v.Summary, said) {
		t.Errorf("before anything came: %s", v.Summary)
	}
	respond := func(status int) {
		r := whittle.Response{Status: status, Body: []byte(`{"error":"no"}`)}
		j.Observe(&whittle.Exchange{Monolith: r, Candidate: r})
	}
	for i := range 1500 {
		respond([]int{404, 401, 500}[i%3])
	}
	before := j
	j = judgeOf(t, c)
	restore(t, before, j)
	if v := j.Verdict(); v.State != whittle.Equivalent || v.Errors != 1500 || !strings.Contains(v.Summary, said) {
		t.Errorf("%s", v.Summary)
	}
	respond(200)
	if v := j.Verdict(); v.Errors != 1500 || v.Compared != 1501 || strings.Contains(v.Summary, said) {
		t.Errorf("after a success: %s", v.Summary)
	}
}

// TestTextCoverage: bodies that are not JSON are one field, the whole.
func TestTextCoverage(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"<p>Hello": "the whole body compared by value, 0 by form, 0 not compared",
		"":         "0 fields compared by value, 0 by form, 0 not compared",
		`{"a":1}`:  "1 field compared by value, 0 by form, 0 not compared",
	} {
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
		r := whittle.Response{Status: 200, Body: []byte(body)}
		j.Observe(&whittle.Exchange{Monolith: r, Candidate: r})
		if got := j.Verdict().Coverage; got == nil || got.Summary != want {
			t.Errorf("%q: %+v, want %s", body, got, want)
		}
	}
}

// varyingText says a text of which a part is made anew in each response, and of which the rest
// follows from the user and the request.
type varyingText func(r *rand.Rand, user, key int, now time.Time) string

func tokenOf(r *rand.Rand, sub string, now time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d,"jti":"%08x"}`, sub, now.Unix(), now.Unix()+900, r.Uint32())
	return part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(claims)) + "." + part(fmt.Appendf(nil, "%032x", r.Uint64()))
}

var varyingTexts = map[string]varyingText{
	"token": func(r *rand.Rand, user, _ int, now time.Time) string { return tokenOf(r, fmt.Sprint("m", user), now) },
	"link": func(r *rand.Rand, _, key int, now time.Time) string {
		return fmt.Sprintf("https://cdn.example/o/a%d.png?expires=%d&sig=%016x", key, now.Unix()+900, r.Uint64())
	},
	"clock": func(_ *rand.Rand, user, _ int, now time.Time) string {
		return fmt.Sprintf("Hello m%d, it is %s", user, now.Format("15:04:05"))
	},
	"receipt": func(r *rand.Rand, user, key int, _ time.Time) string {
		return fmt.Sprintf("Order a%d of m%d: %d items, ref %06x", key, user, key%5, r.IntN(1<<24))
	},
	"words": func(r *rand.Rand, _, key int, _ time.Time) string {
		return fmt.Sprintf("a%d is %s, %d left", key, []string{"calm", "busy", "full"}[r.IntN(3)], r.IntN(40))
	},
}

// playTexts plays exchanges of 60 users, each with requests of its own.
func playTexts(t *testing.T, seed uint64, n int, of, candidate varyingText) whittle.Verdict {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	a := askedAgain{j: j, r: r, keys: 200, saved: 96, say: func(side, key int, at time.Duration) []byte {
		return fmt.Appendf(nil, `{"key":%d,"text":%q}`, key, []varyingText{of, candidate}[side](r, key*7%60, key, simtest.Start.Add(at)))
	}}
	for range n {
		a.next()
	}
	return j.Verdict()
}

// TestTextsThatVary: where a part of a text is made anew in each response, a candidate that
// differs in more than ids and numbers is suspected, and not EQUIVALENT.
func TestTextsThatVary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, of, from, to string }{
		{"a parameter lost", "link", "&sig=", "&"},
		{"another host", "link", "cdn.example", "cdn.internal"},
		{"another sentence", "clock", "it is", "it was"},
		{"a word left out", "receipt", " items", ""},
	} {
		of := varyingTexts[c.of]
		v := playTexts(t, 1, 1500, of, func(r *rand.Rand, user, key int, now time.Time) string {
			return strings.Replace(of(r, user, key, now), c.from, c.to, 1)
		})
		if v.State != whittle.Undecided || !strings.Contains(v.Summary, "suspected") {
			t.Errorf("%s: %s %+v", c.name, v.Summary, v.Bounds)
		}
	}
}

// TestTextsOfTwoMachines: what a text says of its own server is no fault: how long it has been running,
// what it uses, its name.
func TestTextsOfTwoMachines(t *testing.T) {
	t.Parallel()
	for name, of := range map[string][2]string{
		"uptime": {"3 days, 2:04:%02d.%06d", "0:04:%02d.%06d"},
		"memory": {"1.%d%d GB", "45.%d%d MB"},
		"took":   {"1.%d%d s", "9%d%d ms"},
		"visits": {"1,2%02d,%03d visits", "%d, %d visits"},
		"name":   {"%08d%08d.tomcatA", "%08d%08d.tomcatB"},
		"cursor": {"after=17%d%04d", "after=%d%d"},
	} {
		say := func(text string) varyingText {
			return func(r *rand.Rand, _, _ int, _ time.Time) string { return fmt.Sprintf(text, r.IntN(60), r.IntN(1000)) }
		}
		if v := playTexts(t, 1, 1500, say(of[0]), say(of[1])); v.State == whittle.Different {
			t.Errorf("%s: %s %+v", name, v.Summary, v.Findings)
		}
	}
}

// TestTextsThatVaryRaiseNoAlarm: equal services of which each makes a part of a text anew are
// called DIFFERENT in at most 5 of 100 runs.
//
// Hypothesis: given the request, the two sides' texts are exchangeable. Error rate: 0.01, what
// a match may spend; SIM_RUNS takes more runs. Source: Ville's inequality, as in match.
func TestTextsThatVaryRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	names := []string{"token", "link", "clock", "receipt", "words"}
	simtest.AtMost(0.05, 0.002).Play(t, "refused", func(run int) bool {
		of := varyingTexts[names[run%len(names)]]
		v := playTexts(t, uint64(run), 400, of, of)
		if v.State == whittle.Different {
			t.Logf("%s: %s", names[run%len(names)], v.Summary)
		}
		return v.State == whittle.Different
	})
}
