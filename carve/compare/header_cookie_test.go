package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/display"
	"whittle/carve/compare/form"
)

// cookieWorld makes the cookies of two services that are the same.
type cookieWorld struct {
	*comparetest.FormWorld
}

// jar is what a side sets: a session that is new each time, one that it keeps for a
// user, a signed one, a language, a counter, a time, and one that it removes at times.
func (w *cookieWorld) jar(side int) []string {
	now := w.Clock(side)
	list := []string{
		"sid=" + w.Hex(32) + "; Path=/; HttpOnly; Secure; Max-Age=86400",
		"csrf=" + base64.RawURLEncoding.EncodeToString([]byte(w.Of(comparetest.Base62, 24))) + "; Expires=" + now.Add(time.Hour).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT"),
		"lang=" + comparetest.FormWords[w.Key%4] + "; Path=/",
		"auth=s%3A" + w.Of(comparetest.Base62, 20) + "." + w.Of(comparetest.Base62, 27),
		"seen=" + fmt.Sprint(now.Unix()) + "; Max-Age=31536000",
		"keep=" + w.CachedAt(side%2) + "; Max-Age=" + fmt.Sprint(600-w.Key),
	}
	switch w.Key % 3 {
	case 0:
		list = append(list, "flash="+w.Of(comparetest.Base62, 9)+"; Path=/cart")
	case 1:
		list = append(list, "flash=; Path=/cart; Max-Age=0")
	}
	w.R.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// next makes an exchange of equal services; one in 20 is asked twice.
func (w *cookieWorld) exchange(n int) *whittle.Exchange {
	x := w.Next()
	response := func(side int) whittle.Response {
		w.Call = side
		h := whittle.Header{setCookie: w.jar(side)}
		if w.Key%2 == 0 {
			h["Date"] = []string{w.Clock(side).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")}
		}
		return whittle.Response{Status: 200, Header: h, Body: []byte("{}")}
	}
	x.Monolith, x.Candidate = response(form.Monolith), response(form.Candidate)
	if n%20 == 10 {
		again := response(form.Repeat)
		x.Repeat = &again
	}
	return x
}

func newCookieWorld(seed uint64) *cookieWorld {
	return &cookieWorld{FormWorld: comparetest.NewFormWorld(rand.New(rand.NewPCG(seed, 31)))}
}

// TestCookiesOfEqualServices: two services that set seven kinds of cookies alike, with
// clocks up to two seconds apart, are called DIFFERENT for them in none of 60 runs,
// looked at after each exchange. The level of a whole verdict is 1 in 100, of which
// cookies may spend 1 in 20,000.
func TestCookiesOfEqualServices(t *testing.T) {
	t.Parallel()
	for seed := range 60 {
		w := newCookieWorld(uint64(seed))
		h := newHeaders(whittle.Comparison{Kind: whittle.Exact, LearnNoise: true, AllHeaders: true}, &display.View{})
		for n := 1; n <= 400; n++ {
			h.see(w.exchange(n), 0, headersLevel{0, 0.01, n})
			for _, f := range h.cookies.findings() {
				if f.Decided {
					t.Fatalf("run %d, exchange %d: %s", seed, n, f.Summary)
				}
			}
		}
		for _, f := range h.findings(0) {
			if f.Decided {
				t.Errorf("run %d: %s", seed, f.Summary)
			}
		}
	}
}

// TestCookieMutations: a candidate that is right but for the value or the lifetime of
// one cookie is DIFFERENT, in each of ten runs, and neither the finding nor its
// samples have a value of a cookie.
func TestCookieMutations(t *testing.T) {
	t.Parallel()
	for _, m := range []struct {
		name, cookie string
		value        func(w *cookieWorld, old string) string
		within       int
		says         string
	}{
		{"a constant id", "sid", func(*cookieWorld, string) string { return "constant" }, 60, "a word instead of hexadecimal"},
		{"one id for all", "sid", func(*cookieWorld, string) string { return strings.Repeat("ab12", 8) }, 60, "repeats an earlier value"},
		{"ids out of a pool of 20", "sid", func(w *cookieWorld, _ string) string { return fmt.Sprintf("%032x", w.R.IntN(20)+0xabc0) }, 120, "repeats an earlier value"},
		{"a short id", "sid", func(_ *cookieWorld, old string) string { return old[:8] }, 60, "8 characters instead of 32 characters"},
		{"ids that count up", "sid", func(w *cookieWorld, _ string) string { w.Own[1]++; return fmt.Sprintf("%032d", w.Own[1]) }, 60, "digits instead of hexadecimal"},
		{"another alphabet", "csrf", func(w *cookieWorld, _ string) string { return w.Of(comparetest.Base62, 30) + "+/" }, 60, "base64"},
		{"a word that is never said", "lang", func(*cookieWorld, string) string { return "english" }, 60, "a word that the monolith never said"},
		{"a time long past", "seen", func(*cookieWorld, string) string { return "1612345678" }, 60, "another distance from the request"},
		{"the user's id", "sid", func(w *cookieWorld, _ string) string { return fmt.Sprintf("u-%d", 1000+w.Key) }, 60, "another form"},
	} {
		for seed := range 10 {
			w := newCookieWorld(uint64(seed))
			j, err := NewJudge(whittle.Comparison{Kind: whittle.Exact, LearnNoise: true, AllHeaders: true, Confidence: 0.99})
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			var secrets []string
			for n := 1; n <= m.within && at == 0; n++ {
				x := w.exchange(n)
				for i, v := range x.Candidate.Header[setCookie] {
					if rest, ok := strings.CutPrefix(v, m.cookie+"="); ok {
						old, tail, _ := strings.Cut(rest, ";")
						x.Candidate.Header[setCookie][i] = m.cookie + "=" + m.value(w, old) + ";" + tail
					}
				}
				for _, v := range slices.Concat(x.Monolith.Header[setCookie], x.Candidate.Header[setCookie]) {
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
			kept, err := j.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
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
			j, err := NewJudge(c)
			if err != nil {
				t.Fatal(err)
			}
			w := newCookieWorld(5)
			for n := 1; n <= 60; n++ {
				x := w.exchange(n)
				if expect != nil {
					x.Candidate.Header[setCookie] = []string{"sid=constant; Path=/; HttpOnly; Secure; Max-Age=86400"}
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
			if expect == nil && (cov.Cookies != 7 || len(cov.ByForm) != 6 || len(cov.NotCompared) != 1 || cov.NotCompared[0].Path != "Set-Cookie auth") {
				t.Errorf("%+v", cov)
			}
			if !strings.Contains(cov.Summary, "and the attributes of 7 cookies compared by value, ") || strings.HasPrefix(cov.Summary, "the whole body") != (kind == whittle.Exact) {
				t.Errorf("%s", cov.Summary)
			}
			kept, err := j.MarshalBinary()
			if err != nil {
				t.Fatal(err)
			}
			again, _ := NewJudge(c)
			if err := again.UnmarshalBinary(kept); err != nil {
				t.Fatal(err)
			}
			if b, err := again.MarshalBinary(); err != nil || string(b) != string(kept) {
				t.Error("what was restored is not what was kept")
			}
			if got := again.Verdict(); fmt.Sprint(got.Coverage) != fmt.Sprint(v.Coverage) {
				t.Errorf("%+v, want %+v", got.Coverage, v.Coverage)
			}
		}
	}
}

// TestManyCookies: what is told apart of cookies is bounded, and what is not is said.
func TestManyCookies(t *testing.T) {
	t.Parallel()
	j, err := NewJudge(whittle.Comparison{Kind: whittle.Exact, AllHeaders: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		h := whittle.Header{setCookie: {fmt.Sprintf("c%d=%x", i, i*7919)}}
		j.Observe(headed(h, h))
	}
	v := j.Verdict()
	last := v.Coverage.NotCompared[len(v.Coverage.NotCompared)-1]
	if v.Coverage.Cookies != cookiesMost || last.Path != "Set-Cookie *" || len(j.mirrored.headers.cookies.named) != cookiesMost {
		t.Errorf("%+v", v.Coverage)
	}
}
