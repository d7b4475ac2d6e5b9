package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/jsonpath"
)

func TestWhatAHeaderSays(t *testing.T) {
	for _, tc := range []struct {
		name string
		a, b []string
		same bool
	}{
		{"Location", []string{"/orders/1"}, []string{" /orders/1"}, true},
		{"Location", []string{"/orders/1"}, []string{"/orders/2"}, false},
		{"Location", []string{"/orders/1"}, nil, false},
		{"Location", nil, []string{""}, false},
		{"Cache-Control", []string{"no-store, Private"}, []string{"private", "no-store"}, true},
		{"Cache-Control", []string{"private, max-age=60"}, []string{"private, max-age=600"}, false},
		{"Set-Cookie", []string{"sid=1; Path=/; HttpOnly"}, []string{"sid=2;httponly;path=/"}, true},
		{"Set-Cookie", []string{"sid=1", "lang=de"}, []string{"lang=en", "sid=7"}, true},
		{"Set-Cookie", []string{"sid=1; HttpOnly"}, []string{"sid=1"}, false},
		{"Set-Cookie", []string{"sid=1; Path=/A"}, []string{"sid=1; Path=/a"}, false},
		{"Set-Cookie", []string{"sid=1; SameSite=Lax"}, []string{"sid=1; samesite=lax"}, true},
		{"Set-Cookie", []string{"sid=1; Max-Age=60"}, []string{"sid=1; Expires=Tue, 01 Dec 2026 00:00:00 GMT"}, true},
		{"Set-Cookie", []string{"sid=1; Max-Age=60"}, []string{"sid=1"}, false},
		{"Set-Cookie", []string{"sid=; Max-Age=0"}, []string{"sid=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT"}, true},
		{"Set-Cookie", []string{"sid=; Max-Age=0"}, []string{"sid=; Max-Age=60"}, false},
		{"Set-Cookie", []string{"sid=1", "lang=de"}, []string{"sid=1"}, false},
	} {
		a, b := headerWord(tc.name, whittle.Header{tc.name: tc.a}), headerWord(tc.name, whittle.Header{tc.name: tc.b})
		if (a == b) != tc.same {
			t.Errorf("%s: %q says %q, %q says %q", tc.name, tc.a, a, tc.b, b)
		}
	}
}

// headed is an exchange whose answers have the same body and these headers.
func headed(monolith, candidate whittle.Header) *whittle.Exchange {
	x := exchange(`{"a":1}`, `{"a":1}`)
	x.Monolith.Header, x.Candidate.Header = monolith, candidate
	return x
}

func headerJudge(t *testing.T, expect ...whittle.Expectation) *Judge {
	t.Helper()
	c := testMatch
	c.LearnNoise, c.Headers, c.Expect = false, whittle.ClientHeaders(), expect
	j, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestOtherHeadersAreShown: a candidate whose bodies are right, and which sends its
// users elsewhere or lets anybody keep what is private, is DIFFERENT.
func TestOtherHeadersAreShown(t *testing.T) {
	monolith := whittle.Header{"Location": {"/orders/7"}, "Cache-Control": {"no-store"}, "Date": {"one"}, "Set-Cookie": {"sid=secret; HttpOnly"}}
	candidate := whittle.Header{"Location": {"/orders/8"}, "Date": {"two"}, "Set-Cookie": {"sid=other; HttpOnly"}}
	j := headerJudge(t)
	differ := 0
	for range 30 {
		differ += int(oneIf(j.Observe(headed(monolith, candidate)).Differs))
	}
	v := j.Verdict()
	list := findingsOf(&v, whittle.FoundHeader)
	if v.State != whittle.Different || differ != 30 || len(list) != 2 || list[0].DecidedAt == 0 || list[0].DecidedAt > 25 {
		t.Fatalf("%s, %d differ: %+v", v.Summary, differ, list)
	}
	for i, want := range []string{"header Location is /orders/8 instead of /orders/7 in 30 of 30", "header Cache-Control is missing instead of no-store in 30 of 30"} {
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
	if list = findingsOf(&v, whittle.FoundHeader); v.State != whittle.Equivalent || len(list) != 2 || list[0].Expected != "the new shop" || list[1].Expected != "the proxy sets it" {
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
// cookie that is not set is found all the same; without it, nothing is.
func TestANoisyHeaderHidesNoOther(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	header := func(cookie bool) whittle.Header {
		h := whittle.Header{"Location": {fmt.Sprintf("/login?state=%d", r.Uint32())}}
		if cookie {
			h["Set-Cookie"] = []string{"sid=1"}
		}
		return h
	}
	for _, cookie := range []bool{true, false} {
		j := headerJudge(t)
		for i := range 2000 {
			x := headed(header(true), header(cookie))
			if i%10 == 0 {
				x.Repeat = &whittle.Answer{Status: 200, Header: header(true), Body: x.Monolith.Body}
			}
			j.Observe(x)
		}
		v := j.Verdict()
		if want := map[bool]whittle.State{true: whittle.Undecided, false: whittle.Different}[cookie]; v.State != want {
			t.Errorf("cookie set: %t, want %s: %s", cookie, want, v.Summary)
		}
		if list := findingsOf(&v, whittle.FoundHeader); len(list) > 5 {
			t.Errorf("%d findings of two headers", len(list))
		}
	}
}

// Hypothesis: both sides, and the monolith's second answer, set their headers by
// one law, independently. Promised error rate: at most 1 of 100 whole runs is
// ever DIFFERENT. Source: Ville's inequality over bets that are fair because the
// answers may change places (headers).
func TestEqualServicesRaiseNoAlarmByHeaders(t *testing.T) {
	const runs, exchanges = 200, 400
	worlds := map[string]func(r *rand.Rand) whittle.Header{
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
		"several together": func(r *rand.Rand) whittle.Header {
			h := whittle.Header{}
			for _, name := range whittle.ClientHeaders() {
				if r.IntN(3) > 0 {
					h[name] = []string{fmt.Sprint(r.IntN(3))}
				}
			}
			return h
		},
	}
	for name, header := range worlds {
		for _, every := range []int{0, 1, 5} {
			alarms := 0
			for run := range runs {
				r := rand.New(rand.NewPCG(uint64(run), uint64(every)))
				j := headerJudge(t)
				for i := range exchanges {
					x := headed(header(r), header(r))
					if every > 0 && i%every == 0 {
						x.Repeat = &whittle.Answer{Status: 200, Header: header(r), Body: x.Monolith.Body}
					}
					j.Observe(x)
				}
				if v := j.Verdict(); v.State == whittle.Different {
					alarms++
				}
			}
			t.Logf("%s, repeats 1 in %d: %d alarms in %d runs", name, every, alarms, runs)
			if alarms > runs/100 {
				t.Errorf("%s, repeats 1 in %d: %d alarms in %d runs of %d exchanges", name, every, alarms, runs, exchanges)
			}
		}
	}
}

// stars redacts what follows "secret=".
type stars struct{ Redactor }

func (stars) Request(*whittle.Request)                  {}
func (stars) Value(_ []jsonpath.Place, v []byte) []byte { return v }
func (stars) Answer(a *whittle.Answer) {
	h := whittle.Header{}
	for name, values := range a.Header {
		for _, v := range values {
			before, _, ok := strings.Cut(v, "secret=")
			if ok {
				v = before + "***"
			}
			h[name] = append(h[name], v)
		}
	}
	a.Header = h
}

// TestHeadersAreShownRedacted: nothing that is secret is kept or shown of a header,
// and two that are the same but for it differ.
func TestHeadersAreShownRedacted(t *testing.T) {
	a, b := whittle.Header{"Location": {"/in?secret=abc"}}, whittle.Header{"Location": {"/in?secret=xyz"}, "Link": {"secret=xyz"}}
	j := headerJudge(t)
	for range 5 {
		j.Observe(headed(a, b))
	}
	open, err := j.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	k := headerJudge(t)
	k.Redact(stars{})
	if err := k.UnmarshalBinary(open); err != nil {
		t.Fatal(err)
	}
	fresh := headerJudge(t)
	fresh.Redact(stars{})
	for range 5 {
		fresh.Observe(headed(a, b))
	}
	for _, j := range []*Judge{k, fresh} {
		kept, err := j.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		v := j.Verdict()
		if s := fmt.Sprintf("%s %+v", kept, v); strings.Contains(s, "abc") || strings.Contains(s, "xyz") || len(findingsOf(&v, whittle.FoundHeader)) != 2 {
			t.Errorf("%s", s)
		}
	}
}
