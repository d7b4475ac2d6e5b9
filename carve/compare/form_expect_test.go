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
	for i := range 4000 {
		x := withBodies(i, 20, func(side int) string {
			return fmt.Sprintf(`{"a":1,"quote_id":"%08x","x":%d}`, r.Uint32(), []int{500, 600, 500}[side]+r.IntN(500))
		})
		x.At = simtest.Start.Add(time.Duration(i) * 100 * time.Millisecond)
		if j.Observe(x); i%50 != 49 {
			continue
		}
		if v := j.Verdict(); v.State == whittle.Equivalent {
			t.Fatalf("after %d: %s\n%+v", i+1, v.Summary, v.Findings)
		}
	}
}
