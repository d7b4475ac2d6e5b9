package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// TestADeclaredFormExcusesNoOther: that another form is declared at one place has no candidate called
// EQUIVALENT that draws other numbers at another place.
func TestADeclaredFormExcusesNoOther(t *testing.T) {
	t.Parallel()
	c := testMatch
	c.Forms = []whittle.FieldForm{{Path: "$.quote_id", Form: "any"}}
	j := judgeOf(t, c)
	r := rand.New(rand.NewPCG(1, 2))
	say := func(least int) whittle.Response {
		return whittle.Response{Status: 200, Body: fmt.Appendf(nil, `{"a":1,"quote_id":"%08x","x":%d}`, r.Uint32(), least+r.IntN(500))}
	}
	for i := range 4000 {
		x := exchange("", "")
		x.At, x.Monolith, x.Candidate = simtest.Start.Add(time.Duration(i)*100*time.Millisecond), say(500), say(600)
		if i%20 == 0 {
			again := say(500)
			x.Repeat = &again
		}
		if j.Observe(x); i%50 != 49 {
			continue
		}
		if v := j.Verdict(); v.State == whittle.Equivalent {
			t.Fatalf("after %d: %s\n%+v", i+1, v.Summary, v.Findings)
		}
	}
}
