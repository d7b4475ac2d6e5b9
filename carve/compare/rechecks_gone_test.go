package compare

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"whittle"
)

// TestAnOrderOfOtherElementsIsNotKeptTo: both sides pick three of ten at random, so that
// now and then they give the same three in another order, and other ones when they are
// asked again. Neither has kept to a difference then.
func TestAnOrderOfOtherElementsIsNotKeptTo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5))
	pick := func() string {
		p := r.Perm(10)
		return fmt.Sprintf(`{"id":1,"picks":[%d,%d,%d]}`, p[0], p[1], p[2])
	}
	response := func() whittle.Response { return whittle.Response{Status: 200, Body: []byte(pick())} }
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	asked := 0
	for n := range 4000 {
		x := exchange(pick(), pick())
		x.At = x.At.AddDate(0, 0, n)
		if n%20 == 0 {
			x = repeated(x, pick())
		}
		if !j.Observe(x).Ask {
			continue
		}
		asked++
		again := whittle.Recheck{Exchange: x}
		for _, more := j.Recheck(&again); more; _, more = j.Recheck(&again) {
			again.Rounds = append(again.Rounds, whittle.Round{Monolith: response(), Candidate: response()})
		}
	}
	if v := j.Verdict(); v.State == whittle.Different || asked < 10 {
		t.Errorf("asked %d times: %s; %+v", asked, v.Summary, v.Findings)
	}
}
