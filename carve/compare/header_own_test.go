package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// heldHeader is a header that a server says until it refreshes it.
type heldHeader struct {
	r     *rand.Rand
	every time.Duration
	draw  func(*rand.Rand) []string
	until time.Time
	now   []string
}

func (s *heldHeader) at(t time.Time) []string {
	for s.now == nil || !t.Before(s.until) {
		if s.until.IsZero() {
			s.until = simtest.Start.Add(time.Duration(s.r.Float64() * float64(s.every)))
		} else {
			s.until = s.until.Add(time.Duration((0.7 + 0.6*s.r.Float64()) * float64(s.every)))
		}
		s.now = s.draw(s.r)
	}
	return s.now
}

func playHeld(t *testing.T, r *rand.Rand, every time.Duration, draw func(*rand.Rand) []string, wrong func([]string) []string) whittle.Verdict {
	t.Helper()
	j := learningJudge(t, true)
	sides := [2]*heldHeader{}
	for i := range sides {
		sides[i] = &heldHeader{r: r, every: every, draw: draw}
	}
	say := func(side int, at time.Time) whittle.Header {
		h := whittle.Header{"X-Total-Count": {"7"}}
		v := sides[side].at(at)
		if wrong != nil {
			if v = sides[0].at(at); side == 1 {
				v = wrong(v)
			}
		}
		if len(v) > 0 {
			h["X-Snapshot"] = v
		}
		return h
	}
	var v whittle.Verdict
	for i := range 1200 {
		at := simtest.Start.Add(time.Duration(i) * 50 * time.Millisecond)
		x := headed(say(0, at), say(1, at.Add(5*time.Millisecond)))
		x.At, x.Request.Target = at, fmt.Sprint("/", i%40)
		if i%20 == 19 {
			x.Repeat = &whittle.Response{Status: x.Monolith.Status, Header: say(0, at.Add(8*time.Millisecond)), Body: x.Monolith.Body}
		}
		j.Observe(x)
		if i%50 == 49 {
			v = j.Verdict()
		}
	}
	return v
}

// TestHeadersOfEachServersOwn: where each of two equal servers refreshes a header of its own
// once in half a second to three, the verdict is in the end neither DIFFERENT nor EQUIVALENT,
// and the finding says what to write. One that moves on the monolith's side alone is DIFFERENT;
// one that is made wrong of what the monolith's is, UNDECIDED and named.
func TestHeadersOfEachServersOwn(t *testing.T) {
	t.Parallel()
	id := func(r *rand.Rand) []string { return []string{fmt.Sprintf("%016x", r.Uint64())} }
	word := func(r *rand.Rand) []string { return []string{[]string{"calm", "busy", "full"}[r.IntN(3)]} }
	notice := func(r *rand.Rand) []string { return []string{"maintenance"}[:r.IntN(2)] }
	for name, draw := range map[string]func(*rand.Rand) []string{"id": id, "word": word, "notice": notice} {
		for seed := range uint64(8) {
			r := rand.New(rand.NewPCG(seed, 3))
			every := time.Duration(500+r.IntN(2500)) * time.Millisecond
			v := playHeld(t, r, every, draw, nil)
			said := false
			for _, f := range v.Findings {
				said = said || strings.Contains(f.Cause, "except: [X-Snapshot]")
			}
			if v.State != whittle.Undecided || !said {
				t.Errorf("%s, every %v: %s %+v", name, every, v.Summary, v.Findings)
			}
		}
	}
	for name, wrong := range map[string]func([]string) []string{
		"a constant": func([]string) []string { return []string{"0123456789abcdef"} },
		"cut":        func(v []string) []string { return []string{v[0][:8]} },
		"reversed":   func(v []string) []string { return []string{v[0][8:] + v[0][:8]} },
	} {
		v := playHeld(t, rand.New(rand.NewPCG(1, 4)), 2*time.Second, id, wrong)
		word := either(name == "a constant", whittle.Different, whittle.Undecided)
		if v.State != word || v.Findings[0].Path != "X-Snapshot" {
			t.Errorf("%s: %s %+v", name, v.Summary, v.Findings)
		}
	}
}
