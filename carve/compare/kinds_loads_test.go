package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// loadsOf gives each side loads of its own in one list, which wander between 0 and 100, or rise
// and fall with the traffic that both get.
func loadsOf(n int, traffic bool) kindMakes {
	at := map[*int][]float64{}
	return func(w kindWorld) kindSaid {
		loads := at[w.calls]
		for len(loads) < n {
			loads = append(loads, 100*w.r.Float64())
		}
		at[w.calls] = loads
		said := make([]string, n)
		for i := range loads {
			loads[i] = math.Abs(loads[i] + 2*w.r.NormFloat64())
			if loads[i] > 100 {
				loads[i] = 200 - loads[i]
			}
			x := loads[i]
			if traffic { // of the last seconds, and of the last minutes
				period := []float64{4, 16}[i%2]
				x = 50 + 40*math.Sin(w.now.Sub(simtest.Start).Seconds()/period) + loads[i]/20*float64((i+1)%2)
			}
			said[i] = fmt.Sprintf(`{"n":%d,"load":%g}`, i, math.Round(10*x)/10)
		}
		return kindSaid{body: `{"nodes":[` + strings.Join(said, ",") + "]}"}
	}
}

// TestLoadsInOneList: two equal servers with loads of their own in one list are DIFFERENT in at
// most 5 of 100 runs. The loads keep their order for a while, on either side, and traffic moves
// them together; neither says anything of the candidate.
//
// Hypothesis: the two sides' loads follow one process, each by itself or moved by what both
// meet. Error rate: 0.01, what a judge may spend, and what wanders too slowly to be seen. Source:
// Ville's inequality; that order and common moves are no evidence here is held by this simulation.
func TestLoadsInOneList(t *testing.T) {
	t.Parallel()
	simtest.AtMost(0.05, 0.002).Play(t, "DIFFERENT", func(run int) bool {
		makes := loadsOf(2+run%2, run/2%2 == 0)
		other := loadsOf(2+run%2, run/2%2 == 0)
		k := kind{"loads", makes, other, "", ""}
		v := playKind(t, &k, uint64(run), 800, 200*time.Millisecond)
		if v.State == whittle.Different {
			t.Logf("run %d: %s %+v", run, v.Summary, v.Findings)
		}
		return v.State == whittle.Different
	})
}
