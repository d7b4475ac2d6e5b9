package compare

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/form"
)

// TestNoiseOfOnePlaceExcusesNoOther: where the monolith changes one element of a list, one
// key or the last digits of a number by itself, a candidate that is wrong in another
// element, under another key or in the whole number is named and not EQUIVALENT, and one that is right is EQUIVALENT; and numbers of a state that each server has
// of its own, which lie far apart, are UNDECIDED until a form is declared.
func TestNoiseOfOnePlaceExcusesNoOther(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 9))
	type say func(id int, candidate bool) string
	load := [2]float64{0.3, 88.5}
	for _, c := range []struct {
		name string
		say  say
		word whittle.State
		at   string
		pace time.Duration // 0: 150 ms
	}{
		{"another element", func(id int, candidate bool) string {
			wrong := 0
			if candidate {
				wrong = 1
			}
			return fmt.Sprintf(`{"id":%d,"items":[{"price":%d},{"price":%d},{"price":%d}]}`, id, r.IntN(1000), id*3, id*7+wrong)
		}, whittle.Undecided, "$.items[*].price", 0},
		{"the same elements", func(id int, _ bool) string {
			return fmt.Sprintf(`{"id":%d,"items":[{"price":%d},{"price":%d},{"price":%d}]}`, id, r.IntN(1000), id*3, r.IntN(7))
		}, whittle.Equivalent, "", 0},
		{"another key", func(id int, candidate bool) string {
			wrong := 0
			if candidate {
				wrong = 1
			}
			return fmt.Sprintf(`{"id":%d,"by":{"2023":%d,"2024":%d}}`, id, id*3+wrong, r.IntN(1000))
		}, whittle.Undecided, "$.by.*", 0},
		{"another number", func(id int, candidate bool) string {
			by := 1.0
			if candidate {
				by = 1.02
			}
			return fmt.Sprintf(`{"id":%d,"total":%v}`, id, float64(id)*by+r.Float64()/1e6)
		}, whittle.Undecided, "$.total", 0},
		{"another number, within seconds", func(id int, candidate bool) string {
			by := 1.0
			if candidate {
				by = 1.5
			}
			return fmt.Sprintf(`{"id":%d,"total":%v}`, id, float64(id)*by+r.Float64()/1e4)
		}, whittle.Undecided, "$.total", time.Millisecond},
		{"the same number", func(id int, _ bool) string {
			return fmt.Sprintf(`{"id":%d,"total":%v}`, id, float64(id)+r.Float64()/1e6)
		}, whittle.Equivalent, "", 0},
		{"a load of its own", func(id int, candidate bool) string {
			side := 0
			if candidate {
				side = 1
			}
			load[side] *= 1 + (r.Float64()-0.5)/100
			return fmt.Sprintf(`{"id":%d,"load":%v}`, id, load[side])
		}, whittle.Undecided, "$.load", 0},
	} {
		j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
		for n := range 4000 {
			id := 100 + r.IntN(40)
			x := withBodies(n, 20, func(side int) string { return c.say(id, side == form.Candidate) })
			x.Request.Target, x.At = fmt.Sprintf("/things/%d", id), x.At.Add(time.Duration(n)*cmp.Or(c.pace, 150*time.Millisecond))
			j.Observe(x)
		}
		v := j.Verdict()
		if v.State != c.word || c.at != "" && !strings.Contains(v.Findings[0].Path, c.at) {
			t.Errorf("%s: %s; %+v", c.name, v.Summary, v.Findings)
		}
	}
}
