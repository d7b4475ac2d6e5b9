package compare

import (
	"fmt"
	"math/rand/v2"
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
