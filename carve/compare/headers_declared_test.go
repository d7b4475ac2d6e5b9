package compare

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"whittle"
)

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
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, Confidence: 0.99, MinCompared: 300, AllHeaders: true, Expect: []whittle.Expectation{{Kind: c.kind, From: c.monolith, To: c.candidate, Reason: "the contract"}}})
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
