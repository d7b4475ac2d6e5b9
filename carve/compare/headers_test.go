package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
	"whittle/internal/simtest"
)

// clientHeaders are some by which a client acts.
var clientHeaders = []string{
	"Location", "Set-Cookie", "Www-Authenticate", "Cache-Control", "Content-Disposition", "Content-Language", "Link",
	"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Expose-Headers",
}

// headed is an exchange whose responses have the same body and these headers.
func headed(monolith, candidate whittle.Header) *whittle.Exchange {
	x := exchange(`{"a":1}`, `{"a":1}`)
	x.Monolith.Header, x.Candidate.Header = monolith, candidate
	return x
}

func headerJudge(t *testing.T, expect ...whittle.Expectation) *Judge {
	t.Helper()
	return learningJudge(t, false, expect...)
}

func learningJudge(t *testing.T, learns bool, expect ...whittle.Expectation) *Judge {
	t.Helper()
	c := testMatch
	c.LearnNoise, c.AllHeaders, c.Expect = learns, true, expect
	j := judgeOf(t, c)
	return j
}

// TestOtherHeadersAreShown: a candidate whose bodies are right, and which sends its
// users elsewhere or lets anybody keep what is private, is DIFFERENT.
func TestOtherHeadersAreShown(t *testing.T) {
	monolith := whittle.Header{"Location": {"/orders/7"}, "Cache-Control": {"no-store"}, "Date": {"one"}, "Set-Cookie": {"sid=5f3a91c2; HttpOnly"}}
	candidate := whittle.Header{"Location": {"/orders/8"}, "Date": {"two"}, "Set-Cookie": {"sid=0bd4e87f; HttpOnly"}}
	j := headerJudge(t)
	differ := 0
	for range 30 {
		differ += int(eprocess.Indicator(j.Observe(headed(monolith, candidate)).Differs))
	}
	v := j.Verdict()
	list := findingsOf(&v, whittle.FoundHeader)
	if v.State != whittle.Different || differ != 30 || len(list) != 2 || list[0].DecidedAt == 0 || list[0].DecidedAt > 25 {
		t.Fatalf("%s, %d differ: %+v", v.Summary, differ, list)
	}
	for i, want := range []string{
		"header Cache-Control is set by one side only in 30 of 30 responses, 30 times no-store → missing",
		"header Location has another value in 30 of 30 responses, 30 times /orders/7 → /orders/8",
	} {
		if list[i].Summary != want || list[i].Count != 30 || len(list[i].Samples) != 1 {
			t.Errorf("%+v, want %s", list[i], want)
		}
	}

	j = headerJudge(t,
		whittle.Expectation{Kind: whittle.FoundHeader, Path: "Location", Reason: "the new shop"},
		whittle.Expectation{Kind: whittle.FoundHeader, Path: "cache-control", From: "no-store", To: "missing", Reason: "the proxy sets it"})
	for range 4000 {
		j.Observe(headed(monolith, candidate))
	}
	v = j.Verdict()
	if list = findingsOf(&v, whittle.FoundHeader); v.State != whittle.Equivalent || len(list) != 2 || list[0].Expected != "the proxy sets it" || list[1].Expected != "the new shop" {
		t.Errorf("declared: %s %+v", v.Summary, list)
	}
	for range 60 {
		j.Observe(headed(monolith, whittle.Header{"Location": {"/orders/7"}, "Cache-Control": {"public"}, "Set-Cookie": monolith["Set-Cookie"]}))
	}
	if v = j.Verdict(); v.State == whittle.Equivalent || !strings.Contains(fmt.Sprint(findingsOf(&v, whittle.FoundHeader)), "public") {
		t.Errorf("what was not declared: %s", v.Summary)
	}

	c := testMatch
	c.LearnNoise = false
	j, _ = NewJudge(c)
	for range 4000 {
		j.Observe(headed(monolith, candidate))
	}
	if v = j.Verdict(); v.State != whittle.Equivalent {
		t.Errorf("no header compared: %s", v.Summary)
	}
}

// TestANoisyHeaderHidesNoOther: where the monolith changes a header by itself, a
// cookie that is not set is found all the same, and so is its own loss; without
// either, nothing is.
func TestANoisyHeaderHidesNoOther(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	headerBut := func(without string) whittle.Header {
		h := whittle.Header{"Location": {fmt.Sprintf("/login?state=%d", r.Uint32())}, "Set-Cookie": {"sid=1"}}
		delete(h, without)
		return h
	}
	for without, want := range map[string]whittle.State{"": whittle.Undecided, "Set-Cookie": whittle.Different, "Location": whittle.Different} {
		for _, learns := range []bool{true, false} {
			j := learningJudge(t, learns)
			differ := 0
			for i := range 2000 {
				x := withHeaders(i, 10, func(side int) whittle.Header { return headerBut(either(side == form.Candidate, without, "")) })
				differ += int(eprocess.Indicator(j.Observe(x).Differs))
			}
			v := j.Verdict()
			if v.State != want || without == "" && learns && differ > 0 {
				t.Errorf("without %q, learning %t, want %s: %s, %d reported", without, learns, want, v.Summary, differ)
			}
			list := findingsOf(&v, whittle.FoundHeader)
			for _, f := range list {
				if f.Decided && f.Candidate != header.Missing {
					t.Errorf("without %q: %+v", without, f)
				}
			}
			if len(list) > 5 {
				t.Errorf("%d findings of two headers", len(list))
			}
		}
	}
}

// TestWhatIsMadeForEachResponse is in no header a difference before the monolith was
// asked twice: an id in a Location, the time in a file's name.
func TestWhatIsMadeForEachResponse(t *testing.T) {
	made := func(n int) whittle.Header {
		return whittle.Header{"Location": {fmt.Sprintf("/orders/%d", n)}, "Content-Disposition": {fmt.Sprintf("attachment; filename=report-%d.csv", 1e6+n)}}
	}
	for _, repeats := range []struct{ every, from int }{{0, 0}, {20, 0}, {20, 19}} {
		every := repeats.every
		j := learningJudge(t, true)
		for i := range 3000 {
			x := withHeaders(i+repeats.from, every, func(side int) whittle.Header { return made([]int{0, 90_000, 40_000}[side] + i) })
			if o := j.Observe(x); o.Differs && every > 0 {
				t.Fatalf("repeats 1 in %d: reported at %d", every, i)
			}
			if v := j.Verdict(); v.State == whittle.Different || every == 0 && v.State != whittle.Undecided {
				t.Fatalf("repeats 1 in %d: %s", every, v.Summary)
			}
		}
		v := j.Verdict()
		for _, f := range findingsOf(&v, whittle.FoundHeader) {
			if !strings.Contains(f.Cause, "declare it") || strings.Contains(f.Cause, "no request has been repeated") != (every == 0) {
				t.Errorf("%+v", f)
			}
		}
		// Declared, it is EQUIVALENT.
		j = learningJudge(t, true, whittle.Expectation{Kind: whittle.FoundHeader, Path: "Location"}, whittle.Expectation{Kind: whittle.FoundHeader, Path: "Content-Disposition"})
		for i := range 4000 {
			j.Observe(headed(made(i), made(90_000+i)))
		}
		if v := j.Verdict(); v.State != whittle.Equivalent {
			t.Errorf("declared: %s", v.Summary)
		}
	}
	// A wrong address that is always the same takes repeats to be shown.
	j := learningJudge(t, true)
	for i := range 1000 {
		j.Observe(withHeaders(i, 20, func(side int) whittle.Header { return whittle.Header{"Location": {[]string{"/a", "/b", "/a"}[side]}} }))
	}
	if v := j.Verdict(); v.State != whittle.Different || findingsOf(&v, whittle.FoundHeader)[0].DecidedAt > 400 {
		t.Errorf("a wrong address: %s %+v", v.Summary, v.Findings)
	}
}

// Hypothesis: both sides, and the monolith's second response, set their headers by
// one distribution, independently. Promised error rate: at most 1 of 100 whole runs is
// ever DIFFERENT, and in each world, with each pace of repeats, at most 6. A correct
// implementation may show 0.05 % (simtest.Rate). Source: Ville's inequality over bets that
// are fair because the responses may change places (headers).
func TestEqualServicesRaiseNoAlarmByHeaders(t *testing.T) {
	t.Parallel()
	const exchanges = 400
	headers := map[string]func(r *rand.Rand) whittle.Header{
		"a redirect at random": func(r *rand.Rand) whittle.Header {
			return whittle.Header{"Location": {fmt.Sprint(r.IntN(1e6))}, "Set-Cookie": {"sid=1"}}
		},
		"one of two": func(r *rand.Rand) whittle.Header {
			return whittle.Header{"Cache-Control": {[]string{"no-store", "private"}[r.IntN(2)]}}
		},
		"seldom there": func(r *rand.Rand) whittle.Header {
			h := whittle.Header{"Link": {"</next>"}}
			if r.IntN(20) == 0 {
				h["Set-Cookie"] = []string{"sid=1"}
			}
			return h
		},
		"a word of ours": func(r *rand.Rand) whittle.Header {
			return either(r.IntN(2) == 0, whittle.Header{"Link": {"missing"}}, whittle.Header{})
		},
		"several together": func(r *rand.Rand) whittle.Header {
			h := whittle.Header{}
			for _, name := range clientHeaders {
				if r.IntN(3) > 0 {
					h[name] = []string{fmt.Sprint(r.IntN(3))}
				}
			}
			return h
		},
	}
	inOneDirection := []whittle.Expectation{{Kind: whittle.FoundHeader, From: "no-store", To: "private", Reason: "in one direction"}}
	type world struct {
		header func(r *rand.Rand) whittle.Header
		every  int
		expect []whittle.Expectation
	}
	worlds := map[string]world{}
	for name, header := range headers {
		for _, every := range []int{0, 1, 5, 20} {
			worlds[fmt.Sprintf("%s, repeats 1 in %d", name, every)] = world{header, every, either(name == "one of two", inOneDirection, nil)}
		}
	}
	simtest.InTurn(t, 0.01, 0.0005, 0.06, worlds, func(w world, run int) bool {
		r := rand.New(rand.NewPCG(uint64(run), uint64(w.every)))
		j := learningJudge(t, run%2 == 0, w.expect...)
		for i := range exchanges {
			j.Observe(withHeaders(i, w.every, func(int) whittle.Header { return w.header(r) }))
			if i%20 == 19 && j.Verdict().State == whittle.Different { // alarms may be taken back
				return true
			}
		}
		return false
	})
}
