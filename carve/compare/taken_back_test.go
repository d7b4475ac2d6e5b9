package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/form"
	"whittle/internal/simtest"
)

// TestTakenBackIsSaid: where a DIFFERENT goes away, because what had shown it turns out to vary
// by itself, the verdict says so, after a restart too. Nobody who was told DIFFERENT finds an
// UNDECIDED without a word.
func TestTakenBackIsSaid(t *testing.T) {
	t.Parallel()
	j, different, back := equivalenceJudge(t), false, false
	r := rand.New(rand.NewPCG(1, 5))
	for i := 0; i < 3000 && !back; i++ {
		late := i >= 400 // from then on the monolith varies as well
		x := withBodies(i, 20, func(side int) string {
			if side == form.Candidate || late && r.IntN(2) == 0 {
				return `{"a":1,"rank":null}`
			}
			return fmt.Sprintf(`{"a":1,"rank":%d}`, i%30)
		})
		x.At, x.Request.Target = simtest.Start.Add(time.Duration(i)*300*time.Millisecond), fmt.Sprintf("/x/%d", i%30)
		if j.Observe(x); i%20 != 19 {
			continue
		}
		v := j.Verdict()
		different = different || v.State == whittle.Different
		back = different && v.State != whittle.Different
		if said := strings.Contains(v.Summary, "was taken back"); said != back {
			t.Fatalf("DIFFERENT before: %t, %s", different, v.Summary)
		}
	}
	again := equivalenceJudge(t)
	restore(t, j, again)
	if v := again.Verdict(); !back || !strings.Contains(v.Summary, "was taken back") {
		t.Errorf("DIFFERENT before: %t, %s", different, v.Summary)
	}
}
