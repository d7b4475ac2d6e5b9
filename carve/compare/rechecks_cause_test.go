package compare

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// TestAskingAgainIsARepeat holds that a difference that both sides were asked
// about again is not called one that was never repeated to the monolith, unless
// the monolith was seen to change.
func TestAskingAgainIsARepeat(t *testing.T) {
	for _, c := range []struct {
		asked whittle.Asked
		cause string
		want  string
	}{
		{whittle.Asked{Times: 3, Intermittent: 3}, noRepeats, ""},
		{whittle.Asked{Times: 3, Reproducible: 3}, noRepeats + "; a guess: it is cut off", "a guess: it is cut off"},
		{whittle.Asked{Times: 3, Reproducible: 2, Noise: 1}, noRepeats, noRepeats},
		{whittle.Asked{}, noRepeats, noRepeats},
	} {
		r := rechecks{Places: []recheckPlace{{Place: "$.total", Seen: [2]asked{{Asked: c.asked}}}}}
		f := whittle.Finding{Kind: whittle.FoundField, Path: "$.total", Cause: c.cause}
		if r.annotate(&f, 0); f.Cause != c.want {
			t.Errorf("%+v: the cause is %q, want %q", c.asked, f.Cause, c.want)
		}
	}
}

// TestWhoseItIsIsSaidAfterARestart: a judge that was restored says of a value whose it is, as one
// that was not.
func TestWhoseItIsIsSaidAfterARestart(t *testing.T) {
	t.Parallel()
	body := func(i int) string { return fmt.Sprintf(`{"name":"thing number %d"}`, i) }
	for _, restarted := range []bool{false, true} {
		j := judgeOf(t, askedRoute)
		if restarted {
			restore(t, j, j)
		}
		for i := range 60 { // each but the first ones gets what the request before got
			x := exchange(body(i+1), body(i+1))
			if i >= 20 {
				x.Candidate.Body = []byte(body(i))
			}
			x.At, x.Request.Target = simtest.Start.Add(time.Duration(i)*time.Second), fmt.Sprintf("/things/%d", i)
			j.Observe(x)
		}
		if v := j.Verdict(); len(v.Findings) == 0 || !strings.Contains(v.Findings[0].Cause, "to another request before") {
			t.Errorf("restarted %t: %+v", restarted, v.Findings)
		}
	}
}
