package compare

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/header"
	"whittle/internal/fatal"
	"whittle/internal/simtest"
)

// TestCookieMutations: a candidate that is right but for the value or the lifetime of
// one cookie is DIFFERENT, in each of ten runs, and neither the finding nor its
// samples have a value of a cookie.
func TestCookieMutations(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name, cookie string
		value        func(w *comparetest.CookieWorld, old string) string
		within       int
		says         string
	}{
		{"a constant id", "sid", func(*comparetest.CookieWorld, string) string { return "constant" }, 60, "a word instead of hexadecimal"},
		{"one id for all", "sid", func(*comparetest.CookieWorld, string) string { return strings.Repeat("ab12", 8) }, 60, "repeats an earlier value"},
		{"ids out of a pool of 20", "sid", func(w *comparetest.CookieWorld, _ string) string { return fmt.Sprintf("%032x", w.R.IntN(20)+0xabc0) }, 120, "repeats an earlier value"},
		{"a short id", "sid", func(_ *comparetest.CookieWorld, old string) string { return old[:8] }, 60, "8 characters instead of 32 characters"},
		{"ids that count up", "sid", func(w *comparetest.CookieWorld, _ string) string { w.Own[1]++; return fmt.Sprintf("%032d", w.Own[1]) }, 60, "digits instead of hexadecimal"},
		{"another alphabet", "csrf", func(w *comparetest.CookieWorld, _ string) string { return w.Of(comparetest.Base62, 30) + "+/" }, 60, "base64"},
		{"a word that is never said", "lang", func(*comparetest.CookieWorld, string) string { return "english" }, 60, "a word that the monolith never said"},
		{"a time long past", "seen", func(*comparetest.CookieWorld, string) string { return "1612345678" }, 60, "another distance from the request"},
		{"the user's id", "sid", func(w *comparetest.CookieWorld, _ string) string { return fmt.Sprintf("u-%d", 1000+w.Key) }, 60, "another form"},
	} {
		for seed := range 10 {
			w := comparetest.NewCookieWorld(uint64(seed))
			j := judgeOf(t, whittle.Comparison{Kind: whittle.Exact, LearnNoise: true, AllHeaders: true, Confidence: 0.99})
			at := 0
			var secrets []string
			for n := 1; n <= m.within && at == 0; n++ {
				x := w.Exchange(n)
				for i, v := range x.Candidate.Header[header.SetCookie] {
					if rest, ok := strings.CutPrefix(v, m.cookie+"="); ok {
						old, tail, _ := strings.Cut(rest, ";")
						x.Candidate.Header[header.SetCookie][i] = m.cookie + "=" + m.value(w, old) + ";" + tail
					}
				}
				for _, v := range slices.Concat(x.Monolith.Header[header.SetCookie], x.Candidate.Header[header.SetCookie]) {
					if _, value, _ := strings.Cut(strings.Split(v, ";")[0], "="); len(value) >= 8 {
						secrets = append(secrets, value)
					}
				}
				j.Observe(x)
				if j.Verdict().State == whittle.Different {
					at = n
				}
			}
			v := j.Verdict()
			if at == 0 {
				t.Fatalf("%s: not shown in %d exchanges: %s %+v", m.name, m.within, v.Summary, v.Findings)
			}
			f := v.Findings[0]
			said := fmt.Sprintf("%+v", v)
			if f.Kind != whittle.FoundHeader || f.Path != "Set-Cookie "+m.cookie || !strings.Contains(f.Summary, m.says) || len(f.Samples) == 0 {
				t.Errorf("%s: %+v", m.name, f)
			}
			kept := stateOf(t, j)
			for _, secret := range secrets {
				if strings.Contains(said, secret) || strings.Contains(string(kept), secret) {
					i := strings.Index(said+string(kept), secret)
					t.Fatalf("%s: the value %q of a cookie is shown or kept: %s", m.name, secret, (said + string(kept))[max(0, i-80):i+40])
				}
			}
		}
	}
}

// TestCookieCoverage: the verdict says that cookies are compared by form, what is kept
// of them is what is restored, and a declared difference stays one that is seen.
func TestCookieCoverage(t *testing.T) {
	t.Parallel()
	for _, kind := range []whittle.CompareKind{whittle.Exact, whittle.JSON} {
		for _, expect := range [][]whittle.Expectation{nil, {{Kind: whittle.FoundHeader, Path: "set-cookie", Reason: "new sessions"}}} {
			c := whittle.Comparison{Kind: kind, LearnNoise: true, AllHeaders: true, Confidence: 0.99, Expect: expect}
			j := judgeOf(t, c)
			w := comparetest.NewCookieWorld(5)
			for n := 1; n <= 60; n++ {
				x := w.Exchange(n)
				if expect != nil {
					x.Candidate.Header[header.SetCookie] = []string{"sid=constant; Path=/; HttpOnly; Secure; Max-Age=86400"}
				}
				j.Observe(x)
			}
			v := j.Verdict()
			if v.State == whittle.Different {
				t.Errorf("%s: %+v", v.Summary, v.Findings)
			}
			i := slices.IndexFunc(v.Findings, func(f whittle.Finding) bool { return f.Path == "Set-Cookie sid" })
			if expect != nil && (i < 0 || v.Findings[i].Expected != "new sessions") {
				t.Errorf("%+v", v.Findings)
			}
			cov := v.Coverage
			var not []string
			for _, x := range cov.NotCompared {
				not = append(not, strings.TrimPrefix(x.Path, "Set-Cookie "))
			}
			const want = "auth, csrf (alphabet), flash (alphabet), keep (repetition), sid (alphabet)"
			if expect == nil && (cov.Cookies != 7 || len(cov.ByForm) != 6 || strings.Join(not, ", ") != want) {
				t.Errorf("%+v", cov)
			}
			if !strings.Contains(cov.Summary, "and the attributes of 7 cookies compared by value, ") || strings.HasPrefix(cov.Summary, "the whole body") != (kind == whittle.Exact) {
				t.Errorf("%s", cov.Summary)
			}
			kept := stateOf(t, j)
			again := judgeOf(t, c)
			restore(t, j, again)
			fatal.Same(t, string(stateOf(t, again)), string(kept), "what was restored is not what was kept")
			if got := again.Verdict(); fmt.Sprint(got.Coverage) != fmt.Sprint(v.Coverage) {
				t.Errorf("%+v, want %+v", got.Coverage, v.Coverage)
			}
		}
	}
}

// TestManyCookies: what is distinguished of cookies is bounded, and what is not is said.
func TestManyCookies(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.Exact, AllHeaders: true})
	for i := range 100 {
		h := whittle.Header{header.SetCookie: {fmt.Sprintf("c%d=%x", i, i*7919)}}
		j.Observe(headed(h, h))
	}
	v := j.Verdict()
	last := v.Coverage.NotCompared[len(v.Coverage.NotCompared)-1]
	if v.Coverage.Cookies != header.Most || last.Path != "Set-Cookie *" || !strings.Contains(last.Reason, strconv.Itoa(header.Most)) {
		t.Errorf("%+v", v.Coverage)
	}
}

// TestACookieWithoutAForm: where the value of the only cookie that varies is text without a
// form, EQUIVALENT is not said, and the reason speaks of the cookie and not of the bodies.
func TestACookieWithoutAForm(t *testing.T) {
	t.Parallel()
	j := learningJudge(t, true)
	for i := range 1500 {
		j.Observe(withHeaders(i, 20, func(side int) whittle.Header {
			n := 3*i + side
			return whittle.Header{header.SetCookie: {fmt.Sprintf("s=ey%d==.%x; Path=/", n, n*7919)}}
		}))
	}
	v := j.Verdict()
	said := fmt.Sprint(v.Bounds)
	if v.State != whittle.Undecided || !strings.Contains(said, "no value of a cookie is compared: Set-Cookie s") || strings.Contains(said, "of the bodies") {
		t.Errorf("%s %s", v.Summary, said)
	}
}

// TestTokenInACookie: the coverage names what of a token in a cookie nobody looks at.
func TestTokenInACookie(t *testing.T) {
	t.Parallel()
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, AllHeaders: true, Confidence: 0.99})
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		x := exchange(`{"v":1}`, `{"v":1}`)
		for _, a := range []*whittle.Response{&x.Monolith, &x.Candidate} {
			a.Header = whittle.Header{header.SetCookie: {"sid=" + tokenOf(r, "m7", simtest.Start)}}
		}
		j.Observe(x)
	}
	if v := j.Verdict(); !strings.HasSuffix(v.Coverage.Summary, "1 not compared (Set-Cookie sid (claims))") {
		t.Error(v.Coverage.Summary)
	}
}

// TestCookiesOfEqualServices: two services that set seven kinds of cookies alike, with
// clocks up to two seconds apart, are called DIFFERENT for them in none of 60 runs,
// looked at after each exchange. The level of a whole verdict is 1 in 100, of which
// cookies may spend 1 in 20,000.
func TestCookiesOfEqualServices(t *testing.T) {
	t.Parallel()
	for seed := range 60 {
		w := comparetest.NewCookieWorld(uint64(seed))
		h, err := newHeaders(whittle.Comparison{Kind: whittle.Exact, LearnNoise: true, AllHeaders: true}, 0.01, &display.View{})
		fatal.If(t, err)
		for n := 1; n <= 400; n++ {
			h.see(w.Exchange(n))
			found, _ := h.report(0.01)
			for _, f := range found {
				if f.Decided {
					t.Fatalf("run %d, exchange %d: %s", seed, n, f.Summary)
				}
			}
		}
	}
}

// byName redacts the values of one header.
type byName struct{ card }

func (byName) Response(a *whittle.Response) {
	if _, ok := a.Header["X-Session"]; ok {
		a.Header = maps.Clone(a.Header)
		a.Header["X-Session"] = []string{"***"}
	}
}

// TestHeadersAreRedactedByTheirNames: a header that the config names as a secret is one in a
// trailer too, and among the many headers that are not distinguished. A cookie in a trailer, which
// no client takes, is not compared, and its value shown nowhere.
func TestHeadersAreRedactedByTheirNames(t *testing.T) {
	t.Parallel()
	many := func(session string) whittle.Header {
		h := whittle.Header{"X-Session": {session}, "X-Zone": {session[:4]}}
		for i := range 70 {
			h[fmt.Sprintf("A-%02d", i)] = []string{"same"}
		}
		return h
	}
	for name, c := range map[string]struct {
		sides func(monolith, candidate *whittle.Response)
		found bool
	}{
		"trailer": {func(m, c *whittle.Response) {
			m.Trailer, c.Trailer = whittle.Header{"X-Session": {"abcd-monolith"}}, whittle.Header{"X-Session": {"efgh-candidate"}}
		}, true},
		"other headers": {func(m, c *whittle.Response) { m.Header, c.Header = many("abcd-monolith"), many("efgh-candidate") }, true},
		"cookie in a trailer": {func(m, c *whittle.Response) {
			m.Trailer, c.Trailer = whittle.Header{"Set-Cookie": {"sid=abcd-monolith; Path=/"}}, whittle.Header{"Set-Cookie": {"sid=efgh-candidate"}}
		}, false},
	} {
		j := headerJudge(t)
		j.Redact(byName{})
		for range 5 {
			x := headed(nil, nil)
			c.sides(&x.Monolith, &x.Candidate)
			j.Observe(x)
		}
		kept := stateOf(t, j)
		v := j.Verdict()
		said := fmt.Sprintf("%s %+v", kept, v)
		if strings.Contains(said, "-monolith") || strings.Contains(said, "-candidate") || len(findingsOf(&v, whittle.FoundHeader)) > 0 != c.found {
			t.Errorf("%s: %+v", name, v.Findings)
		}
	}
}
