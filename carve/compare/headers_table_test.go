package compare

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
	"whittle/carve/compare/header"
)

// TestWhatIsShownOfHeaders: what matters is shown whatever varies or is declared
// next to it.
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
		}, one("Location", "/m1"), "Location"},
		"next to a noisy header whose loss is declared": {lost, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"no-store"}}
		}, one("Cache-Control", "public"), "Cache-Control"},
		"next to an address that varies": {nil, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"no-store"}}
		}, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"public"}}
		}, "Cache-Control"},
		"behind a past of what is declared": {
			[]whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Set-Cookie", From: "missing", Reason: "new"}},
			func(_ *rand.Rand, i int) whittle.Header {
				return either(i > 500, whittle.Header{"Set-Cookie": {"sid=1"}}, whittle.Header{})
			},
			func(_ *rand.Rand, i int) whittle.Header {
				return either(i <= 500, whittle.Header{"Set-Cookie": {"sid=1"}}, whittle.Header{})
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
			every := either(name == "next to an address that varies" && !learns, 2000, 20) // not even by repeats
			r := rand.New(rand.NewPCG(8, 8))
			j := learningJudge(t, learns, w.expect...)
			open := 0
			differ := 0
			for i := range 1000 {
				x := withHeaders(i, every, func(side int) whittle.Header {
					return [...]func(*rand.Rand, int) whittle.Header{w.monolith, w.candidate, w.monolith}[side](r, i)
				})
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
		j.Observe(withHeaders(i, 20, func(side int) whittle.Header {
			h := whittle.Header{"Location": {"/a"}, "Cache-Control": {"no-store"}}
			if side == form.Candidate || side == form.Repeat && i == 999 {
				delete(h, "Location")
			}
			if side == form.Candidate && i == 700 {
				delete(h, "Cache-Control")
			}
			return h
		}))
	}
	v := j.Verdict()
	if list := findingsOf(&v, whittle.FoundHeader); v.State != whittle.Different || !list[0].Decided || list[0].Path != "Location" {
		t.Errorf("%s: %+v", v.Summary, list)
	}

	// Fourteen that vary do not hide one that is wrong.
	c := testMatch
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	j = judgeOf(t, c)
	r := rand.New(rand.NewPCG(9, 9))
	varied := func(last string) whittle.Header {
		h := whittle.Header{"X-15": {last}}
		for _, name := range c.Headers[:14] {
			h[name] = []string{random(r)}
		}
		return h
	}
	for i := range 1000 {
		j.Observe(withHeaders(i, 5, func(side int) whittle.Header {
			return varied(either(side == form.Candidate && i > 200, "wrong", "right"))
		}))
	}
	v = j.Verdict()
	var shown []string
	for _, f := range findingsOf(&v, whittle.FoundHeader) {
		if f.Decided {
			shown = append(shown, f.Summary)
		}
	}
	if v.State != whittle.Different || len(shown) != 1 || !strings.Contains(shown[0], "X-15 has another form in 799 of 1,000 responses, 799 times right → wrong") {
		t.Errorf("%s: %q", v.Summary, shown)
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

// TestADeclarationInOneDirectionRaisesNoAlarm: of two statuses at random on both
// sides, one change is declared. Only the other can be seen to differ, and which of
// the two sides it was says nothing. The same promise as above.
func TestADeclarationInOneDirectionRaisesNoAlarm(t *testing.T) {
	t.Parallel()
	const runs, exchanges = 100, 400
	for _, every := range []int{0, 20} {
		alarms := 0
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(run), 9))
			j := headerJudge(t, whittle.Expectation{Kind: whittle.FoundStatus, From: "200", To: "404", Reason: "it may be gone"})
			flaps := func() int { return []int{200, 404}[r.IntN(2)] }
			for i := range exchanges {
				j.Observe(exchanged(i, every, func(int) whittle.Response { return whittle.Response{Status: flaps(), Body: []byte(`{"a":1}`)} }))
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

// TestTheRestOfADeclaredDifference: where status or content type differ as declared, the rest
// of the responses is compared all the same; of a page that the declaration makes another
// one EQUIVALENT says that it is not.
func TestTheRestOfADeclaredDifference(t *testing.T) {
	t.Parallel()
	const utf8 = "application/json; charset=utf-8"
	for _, c := range []struct {
		kind                whittle.FindingKind
		monolith, candidate string
		every               int // one response in so many differs
		wrong               bool
		word                whittle.State
		says                string
	}{
		{whittle.FoundStatus, "200", "201", 1, true, whittle.Different, "$.v has another value"},
		{whittle.FoundStatus, "200", "201", 5, true, whittle.Different, "$.v has another value"},
		{whittle.FoundStatus, "200", "201", 1, false, whittle.Equivalent, "0 not compared"},
		{whittle.FoundStatus, "404", "200", 5, true, whittle.Equivalent, "1 not compared (what else 300 responses say)"},
		{whittle.FoundContentType, "application/json", utf8, 1, true, whittle.Different, "$.v has another value"},
		{whittle.FoundContentType, "application/json", utf8, 1, false, whittle.Equivalent, "0 not compared"},
		{whittle.FoundContentType, "text/html", utf8, 5, true, whittle.Equivalent, "1 not compared (what else 300 responses say)"},
	} {
		expected := []whittle.Expectation{{Kind: c.kind, From: c.monolith, To: c.candidate, Reason: "the contract"}}
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, Confidence: 0.99, MinCompared: 300, AllHeaders: true, Expect: expected})
		for i := range 1500 {
			x := exchange(fmt.Sprintf(`{"v":%d}`, i%7), fmt.Sprintf(`{"v":%d}`, i%7))
			for _, a := range []*whittle.Response{&x.Monolith, &x.Candidate} {
				a.Header = whittle.Header{"Content-Type": {utf8}}
			}
			if i%c.every == 0 {
				if c.wrong {
					x.Candidate.Body = fmt.Appendf(nil, `{"v":%d}`, i%7+1)
				}
				for a, word := range map[*whittle.Response]string{&x.Monolith: c.monolith, &x.Candidate: c.candidate} {
					if c.kind == whittle.FoundContentType {
						a.Header = whittle.Header{"Content-Type": {word}}
					} else {
						a.Status, _ = strconv.Atoi(word)
					}
				}
			}
			j.Observe(x)
		}
		if v := j.Verdict(); v.State != c.word || !strings.Contains(fmt.Sprint(v.Summary, v.Findings), c.says) {
			t.Errorf("%s, %s for %s in 1 of %d, wrong %t: %s %+v", c.kind, c.candidate, c.monolith, c.every, c.wrong, v.Summary, v.Bounds)
		}
	}
}

// TestMoreHeadersThanHaveARecord: what differs after the first places is compared as one, so
// that a difference in it is found all the same.
func TestMoreHeadersThanHaveARecord(t *testing.T) {
	t.Parallel()
	named := func(first, n int) whittle.Header {
		h := whittle.Header{}
		for i := range n {
			h[fmt.Sprintf("X-N%03d", first+i)] = []string{"a"}
		}
		return h
	}
	for _, late := range []string{"lost", "another"} {
		j := learningJudge(t, true)
		for i := range 60 {
			a, b := named(1000, 1), named(1000, 1)
			if i < 4 { // each differs once
				a, b = named(40*i, 40), whittle.Header{}
			} else if late == "lost" {
				b = whittle.Header{}
			} else {
				b["X-N1000"] = []string{"b"}
			}
			j.Observe(headed(a, b))
		}
		v := j.Verdict()
		if list := findingsOf(&v, whittle.FoundHeader); len(list) == 0 || list[0].Path != header.OtherHeaders || v.State == whittle.Equivalent {
			t.Errorf("%s: %s %+v", late, v.Summary, list)
		}
	}
}
