package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/header"
	"whittle/internal/jsonpath"
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
	j, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
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
	for i, want := range []string{"header Cache-Control is missing instead of no-store in 30 of 30", "header Location is /orders/8 instead of /orders/7 in 30 of 30"} {
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
				x := headed(headerBut(""), headerBut(without))
				if i%10 == 0 {
					x.Repeat = &whittle.Response{Status: 200, Header: headerBut(""), Body: x.Monolith.Body}
				}
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
	for _, every := range []int{0, 20} {
		j := learningJudge(t, true)
		for i := range 3000 {
			x := headed(made(i), made(90_000+i))
			if every > 0 && i%every == 0 {
				x.Repeat = &whittle.Response{Status: 200, Header: made(40_000 + i), Body: x.Monolith.Body}
			}
			if o := j.Observe(x); o.Differs && every > 0 {
				t.Fatalf("repeats 1 in %d: reported at %d", every, i)
			}
			if v := j.Verdict(); v.State != whittle.Undecided {
				t.Fatalf("repeats 1 in %d: %s", every, v.Summary)
			}
		}
		v := j.Verdict()
		for _, f := range findingsOf(&v, whittle.FoundHeader) {
			if !strings.Contains(f.Cause, "declare it") || strings.Contains(f.Cause, "asked twice") != (every == 0) {
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
		x := headed(whittle.Header{"Location": {"/a"}}, whittle.Header{"Location": {"/b"}})
		if i%20 == 0 {
			x.Repeat = &whittle.Response{Status: 200, Header: x.Monolith.Header, Body: x.Monolith.Body}
		}
		j.Observe(x)
	}
	if v := j.Verdict(); v.State != whittle.Different || findingsOf(&v, whittle.FoundHeader)[0].DecidedAt > 400 {
		t.Errorf("a wrong address: %s %+v", v.Summary, v.Findings)
	}
}

// TestDeclaredHeaders: values may be written as they are sent, and many declared
// ones leave room for one that is not.
func TestDeclaredHeaders(t *testing.T) {
	j := headerJudge(t, whittle.Expectation{Kind: whittle.FoundHeader, Path: "Cache-Control", From: "Private, max-age=60", To: "missing", Reason: "as sent"})
	for range 20 {
		j.Observe(headed(whittle.Header{"Cache-Control": {"private,max-age=60"}}, whittle.Header{}))
	}
	v := j.Verdict()
	if list := findingsOf(&v, whittle.FoundHeader); len(list) != 1 || list[0].Expected != "as sent" {
		t.Errorf("%+v", list)
	}
	var expect []whittle.Expectation
	for i := range 60 {
		expect = append(expect, whittle.Expectation{Kind: whittle.FoundHeader, Path: "Location", From: fmt.Sprintf("/%d", i), Reason: fmt.Sprint(i)})
	}
	j = headerJudge(t, expect...)
	for i := range 600 {
		a, b := whittle.Header{"Location": {fmt.Sprintf("/%d", i%60)}}, whittle.Header{"Location": {"/x"}}
		if i >= 60 {
			a["Content-Language"], b["Content-Language"] = []string{"de"}, []string{"en"}
		}
		j.Observe(headed(a, b))
	}
	if v = j.Verdict(); v.State != whittle.Different {
		t.Errorf("one that is not declared behind sixty that are: %s", v.Summary)
	}
}

func pick(there bool, h whittle.Header) whittle.Header {
	if there {
		return h
	}
	return whittle.Header{}
}

// TestWhatIsShownOfHeaders: what matters is shown whatever varies or is declared
// beside it.
func TestWhatIsShownOfHeaders(t *testing.T) {
	type world struct {
		expect              []whittle.Expectation
		monolith, candidate func(r *rand.Rand, i int) whittle.Header
		path                string
	}
	random := func(r *rand.Rand) string { return fmt.Sprintf("/%c%x", 'a'+r.IntN(26), r.Uint32()) }
	one := func(name, value string) func(*rand.Rand, int) whittle.Header {
		return func(*rand.Rand, int) whittle.Header { return whittle.Header{name: {value}} }
	}
	none := func(*rand.Rand, int) whittle.Header { return whittle.Header{} }
	lost := []whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Location", To: "missing", Reason: "on purpose"}}
	for name, w := range map[string]world{
		"a lost header of many values": {nil, func(r *rand.Rand, i int) whittle.Header {
			return whittle.Header{"Link": {fmt.Sprintf("</%c%d>", 'a'+i*7%26, i)}}
		}, none, "Link"},
		"one address in place of many": {nil, func(_ *rand.Rand, i int) whittle.Header {
			return whittle.Header{"Location": {fmt.Sprintf("/%c%d", 'a'+i*7%26, i)}}
		}, one("Location", "/m"), "Location"},
		"beside a noisy header whose loss is declared": {lost, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"no-store"}}
		}, one("Cache-Control", "public"), "Cache-Control"},
		"beside an address that varies": {nil, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"no-store"}}
		}, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"public"}}
		}, "Cache-Control"},
		"behind a past of what is declared": {
			[]whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Set-Cookie", From: "missing", Reason: "new"}},
			func(_ *rand.Rand, i int) whittle.Header {
				return pick(i > 500, whittle.Header{"Set-Cookie": {"sid=1"}})
			},
			func(_ *rand.Rand, i int) whittle.Header {
				return pick(i <= 500, whittle.Header{"Set-Cookie": {"sid=1"}})
			}, "Set-Cookie",
		},
		"what is declared the other way round": {
			[]whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Set-Cookie", From: "missing", Reason: "new"}}, one("Set-Cookie", "sid=1"), none, "Set-Cookie",
		},
	} {
		for _, learns := range []bool{true, false} {
			if name == "one address in place of many" && !learns {
				continue // takes repeats
			}
			every := 20
			if name == "beside an address that varies" && !learns {
				every = 2000 // not even by repeats
			}
			r := rand.New(rand.NewPCG(8, 8))
			j := learningJudge(t, learns, w.expect...)
			open := 0
			differ := 0
			for i := range 1000 {
				a := w.monolith(r, i)
				x := headed(a, w.candidate(r, i))
				if i%every == every-1 {
					again := w.monolith(r, i)
					x.Repeat = &whittle.Response{Status: 200, Header: again, Body: x.Monolith.Body}
				}
				open += int(eprocess.Indicator(name != "behind a past of what is declared" || i > 500))
				differ += int(eprocess.Indicator(j.Observe(x).Differs))
			}
			v := j.Verdict()
			shown := ""
			for _, f := range findingsOf(&v, whittle.FoundHeader) {
				if f.Decided && f.Expected == "" {
					shown += f.Path + " "
					byRepeats := name == "one address in place of many"
					if f.Cause != "" || learns && byRepeats && f.DecidedAt < 20 || learns && !byRepeats && f.DecidedAt > 20 && w.path != "Set-Cookie" {
						t.Errorf("%s: %+v", name, f)
					}
				}
			}
			if v.State != whittle.Different || !strings.Contains(shown, w.path) || every == 20 && strings.Trim(strings.ReplaceAll(shown, w.path, ""), " ") != "" || differ < open-100 {
				t.Errorf("%s, learning %t: %q shown, %d reported: %s", name, learns, shown, differ, v.Summary)
			}
		}
	}

	// What differs once does not take the blame for what always does.
	j := learningJudge(t, true)
	for i := range 2000 {
		a, b := whittle.Header{"Location": {"/a"}, "Cache-Control": {"no-store"}}, whittle.Header{"Cache-Control": {"no-store"}}
		if i == 700 {
			delete(b, "Cache-Control")
		}
		x := headed(a, b)
		if i%20 == 19 {
			again := whittle.Header{"Location": {"/a"}, "Cache-Control": {"no-store"}}
			if i == 999 {
				delete(again, "Location")
			}
			x.Repeat = &whittle.Response{Status: 200, Header: again, Body: x.Monolith.Body}
		}
		j.Observe(x)
	}
	v := j.Verdict()
	if list := findingsOf(&v, whittle.FoundHeader); v.State != whittle.Different || !list[0].Decided || list[0].Path != "Location" {
		t.Errorf("%s: %+v", v.Summary, list)
	}

	// Fourteen that vary do not crowd out one that is wrong.
	c := testMatch
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	var err error
	if j, err = NewJudge(c); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	varied := func(last string) whittle.Header {
		h := whittle.Header{"X-15": {last}}
		for _, name := range c.Headers[:14] {
			h[name] = []string{random(r)}
		}
		return h
	}
	for i := range 1000 {
		x := headed(varied("right"), varied(map[bool]string{true: "wrong", false: "right"}[i > 200]))
		if i%5 == 0 {
			x.Repeat = &whittle.Response{Status: 200, Header: varied("right"), Body: x.Monolith.Body}
		}
		j.Observe(x)
	}
	v = j.Verdict()
	var shown []string
	for _, f := range findingsOf(&v, whittle.FoundHeader) {
		if f.Decided {
			shown = append(shown, f.Summary)
		}
	}
	if v.State != whittle.Different || len(shown) != 1 || !strings.Contains(shown[0], "X-15 is wrong instead of right") {
		t.Errorf("%s: %q", v.Summary, shown)
	}
}

// Hypothesis: both sides, and the monolith's second response, set their headers by
// one distribution, independently. Promised error rate: at most 1 of 100 whole runs is
// ever DIFFERENT. Source: Ville's inequality over bets that are fair because the
// responses may change places (headers).
func TestEqualServicesRaiseNoAlarmByHeaders(t *testing.T) {
	const runs, exchanges = 100, 400
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
		"a word of ours": func(r *rand.Rand) whittle.Header {
			return pick(r.IntN(2) == 0, whittle.Header{"Link": {"missing"}})
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
	expect := map[string][]whittle.Expectation{
		"one of two": {{Kind: whittle.FoundHeader, From: "no-store", To: "private", Reason: "in one direction"}},
	}
	for name, header := range worlds {
		for _, every := range []int{0, 1, 5, 20} {
			alarms := 0
			for run := range runs {
				r := rand.New(rand.NewPCG(uint64(run), uint64(every)))
				j := learningJudge(t, run%2 == 0, expect[name]...)
				for i := range exchanges {
					x := headed(header(r), header(r))
					if every > 0 && i%every == 0 {
						x.Repeat = &whittle.Response{Status: 200, Header: header(r), Body: x.Monolith.Body}
					}
					j.Observe(x)
					if i%20 == 19 && j.Verdict().State == whittle.Different { // alarms may be taken back
						alarms++
						break
					}
				}
			}
			t.Logf("%s, repeats 1 in %d: %d alarms in %d runs", name, every, alarms, runs)
			if alarms > runs/100 {
				t.Errorf("%s, repeats 1 in %d: %d alarms in %d runs of %d exchanges", name, every, alarms, runs, exchanges)
			}
		}
	}
}

// TestADeclarationInOneDirectionRaisesNoAlarm: of two statuses at random on both
// sides, one change is declared. Only the other can be seen to differ, and which of
// the two sides it was says nothing. The same promise as above.
func TestADeclarationInOneDirectionRaisesNoAlarm(t *testing.T) {
	const runs, exchanges = 100, 400
	for _, every := range []int{0, 20} {
		alarms := 0
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(run), 9))
			j := headerJudge(t, whittle.Expectation{Kind: whittle.FoundStatus, From: "200", To: "404", Reason: "it may be gone"})
			flaps := func() int { return []int{200, 404}[r.IntN(2)] }
			for i := range exchanges {
				x := headed(nil, nil)
				x.Monolith.Status, x.Candidate.Status = flaps(), flaps()
				if every > 0 && i%every == 0 {
					x.Repeat = &whittle.Response{Status: flaps(), Body: x.Monolith.Body}
				}
				j.Observe(x)
				if j.Verdict().State == whittle.Different {
					alarms++
					break
				}
			}
		}
		if alarms > runs/100 {
			t.Errorf("repeats 1 in %d: %d alarms in %d runs", every, alarms, runs)
		}
	}
}

// TestADeclarationHidesNoOtherDirection: what is declared of one change says nothing
// of its reverse.
func TestADeclarationHidesNoOtherDirection(t *testing.T) {
	j := headerJudge(t, whittle.Expectation{Kind: whittle.FoundStatus, From: "500", To: "200", Reason: "mended"})
	for range 40 {
		x := headed(nil, nil)
		x.Candidate.Status = 500
		j.Observe(x)
	}
	if v := j.Verdict(); v.State != whittle.Different {
		t.Errorf("always 500 where it was 200: %s", v.Summary)
	}
	j = headerJudge(t, whittle.Expectation{Kind: whittle.FoundStatus, From: "500", To: "200", Reason: "mended"})
	for i := range 4000 {
		x := headed(nil, nil)
		if i%4 == 0 {
			x.Monolith.Status = 500
		}
		j.Observe(x)
	}
	if v := j.Verdict(); v.State != whittle.Equivalent {
		t.Errorf("as declared: %s", v.Summary)
	}
}

// stars redacts what follows "secret=".
type stars struct{}

func (stars) Request(q *whittle.Request) {
	q.Target, q.Body = star(q.Target), []byte(star(string(q.Body)))
}

func (stars) Value(_ []jsonpath.Element, v []byte) []byte { return []byte(star(string(v))) }

func (stars) Response(a *whittle.Response) {
	h := whittle.Header{}
	for name, values := range a.Header {
		for _, v := range values {
			h[name] = append(h[name], star(v))
		}
	}
	a.Header, a.Body = h, []byte(star(string(a.Body)))
}

func star(s string) string {
	if before, _, ok := strings.Cut(s, "secret="); ok {
		return before + "***"
	}
	return s
}

// TestHeadersAreShownRedacted: nothing that is secret is kept or shown of a header,
// and two that are the same but for it differ.
func TestHeadersAreShownRedacted(t *testing.T) {
	a, b := whittle.Header{"Location": {"/in?secret=abc"}}, whittle.Header{"Location": {"/in?secret=xyz"}, "Link": {"secret=xyz"}}
	see := func(j *Judge) {
		for range 5 {
			x := headed(a, b)
			x.Request.Target, x.Request.Body = "/in?secret=xyz", []byte("secret=xyz")
			x.Monolith.Body, x.Candidate.Body = []byte("secret=abc"), []byte("secret=abc")
			j.Observe(x)
		}
	}
	j := headerJudge(t)
	see(j)
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
	see(fresh)
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

// TestHeadersStayBounded: sixteen headers of ever new values, in JSON.
func TestHeadersStayBounded(t *testing.T) {
	c := testMatch
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	j, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("<\u00e9", 3000)
	for i := range 2000 {
		a, b := whittle.Header{}, whittle.Header{}
		for k, name := range c.Headers {
			if (i+k)%3 > 0 {
				a[name] = []string{fmt.Sprintf("%d%s", i, long)}
			}
			if (i+k)%5 > 0 {
				b[name] = []string{fmt.Sprintf("%d%s", -i, long)}
			}
		}
		x := headed(a, b)
		x.Request.Target, x.Monolith.Body, x.Candidate.Body = "/"+long, fmt.Appendf(nil, `{"k%d":%q}`, i, long), fmt.Appendf(nil, `{"j%d":%q}`, i, long)
		j.Observe(x)
	}
	kept, err := j.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	v := j.Verdict()
	t.Logf("%d bytes are kept, of %d findings", len(kept), len(v.Findings))
	if n := len(findingsOf(&v, whittle.FoundHeader)); n == 0 || n > 2*header.HeaderChangesMost {
		t.Errorf("%d findings of headers", n)
	}
	again, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.UnmarshalBinary(kept); err != nil || len(findingsOf(new(again.Verdict()), whittle.FoundHeader)) != len(findingsOf(&v, whittle.FoundHeader)) {
		t.Errorf("restored: %v", err)
	}
}
