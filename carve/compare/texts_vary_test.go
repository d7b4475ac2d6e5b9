package compare

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/internal/simtest"
)

// varyingText says a text of which a part is made anew in each response, and of which the rest
// follows from the user and the request.
type varyingText func(r *rand.Rand, user, key int, now time.Time) string

func tokenOf(r *rand.Rand, sub string, now time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	claims := fmt.Sprintf(`{"sub":%q,"iat":%d,"exp":%d,"jti":"%08x"}`, sub, now.Unix(), now.Unix()+900, r.Uint32())
	return part([]byte(`{"alg":"HS256","typ":"JWT"}`)) + "." + part([]byte(claims)) + "." + part(fmt.Appendf(nil, "%032x", r.Uint64()))
}

var varyingTexts = map[string]varyingText{
	"token": func(r *rand.Rand, user, _ int, now time.Time) string { return tokenOf(r, fmt.Sprint("m", user), now) },
	"link": func(r *rand.Rand, _, key int, now time.Time) string {
		return fmt.Sprintf("https://cdn.example/o/a%d.png?expires=%d&sig=%016x", key, now.Unix()+900, r.Uint64())
	},
	"clock": func(_ *rand.Rand, user, _ int, now time.Time) string {
		return fmt.Sprintf("Hello m%d, it is %s", user, now.Format("15:04:05"))
	},
	"receipt": func(r *rand.Rand, user, key int, _ time.Time) string {
		return fmt.Sprintf("Order a%d of m%d: %d items, ref %06x", key, user, key%5, r.IntN(1<<24))
	},
	"words": func(r *rand.Rand, _, key int, _ time.Time) string {
		return fmt.Sprintf("a%d is %s, %d left", key, []string{"calm", "busy", "full"}[r.IntN(3)], r.IntN(40))
	},
}

func playTexts(t *testing.T, seed uint64, n int, of, candidate varyingText) whittle.Verdict {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 8))
	j := judgeOf(t, whittle.Comparison{Kind: whittle.JSON, LearnNoise: true, Confidence: 0.99, MinCompared: 300})
	now := simtest.Start
	asked := askedAgain{saved: 96}
	users := map[int]int{}
	for i := range n {
		now = now.Add(time.Duration(r.ExpFloat64() * float64(50*time.Millisecond)))
		say := func(of varyingText, user, key int, at time.Time) string {
			return fmt.Sprintf(`{"key":%d,"text":%q}`, key, of(r, user, key, at))
		}
		asked.settle(j, now.Sub(simtest.Start), func(key int, at time.Duration, round *whittle.Round) {
			round.Monolith.Body, round.Candidate.Body = []byte(say(of, users[key], key, simtest.Start.Add(at))), []byte(say(candidate, users[key], key, simtest.Start.Add(at)))
		})
		key := r.IntN(200)
		user := key * 7 % 60
		users[key] = user
		x := exchange(say(of, user, key, now), say(candidate, user, key, now.Add(5*time.Millisecond)))
		x.At, x.Request.Target = now, fmt.Sprintf("/x/%d?u=%d", key, user)
		if i%20 == 19 {
			x = repeated(x, say(of, user, key, now.Add(7*time.Millisecond)))
		}
		if o := j.Observe(x); o.Ask {
			asked.begin(j, x, key, now.Sub(simtest.Start))
		}
		asked.saved = min(96, asked.saved+0.04)
	}
	return j.Verdict()
}

// TestTextsThatVary: where a part of a text is made anew in each response, a candidate that
// differs in more than ids and numbers is DIFFERENT.
func TestTextsThatVary(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, of, from, to string }{
		{"a parameter lost", "link", "&sig=", "&"},
		{"another host", "link", "cdn.example", "cdn.internal"},
		{"another sentence", "clock", "it is", "it was"},
		{"a word left out", "receipt", " items", ""},
	} {
		of := varyingTexts[c.of]
		v := playTexts(t, 1, 1500, of, func(r *rand.Rand, user, key int, now time.Time) string {
			return strings.Replace(of(r, user, key, now), c.from, c.to, 1)
		})
		if v.State != whittle.Different {
			t.Errorf("%s: %s %+v", c.name, v.Summary, v.Bounds)
		}
	}
}

// TestTextsThatVaryRaiseNoAlarm: equal services of which each makes a part of a text anew are
// called DIFFERENT in at most 5 of 100 runs.
//
// Hypothesis: given the request, the two sides' texts are exchangeable. Error rate: 0.01, what
// a match may spend; SIM_RUNS takes more runs. Source: Ville's inequality, as in match.
func TestTextsThatVaryRaiseNoAlarm(t *testing.T) {
	t.Parallel()
	names := []string{"token", "link", "clock", "receipt", "words"}
	simtest.AtMost(0.05, 0.002).Play(t, "refused", func(run int) bool {
		of := varyingTexts[names[run%len(names)]]
		v := playTexts(t, uint64(run), 400, of, of)
		if v.State == whittle.Different {
			t.Logf("%s: %s", names[run%len(names)], v.Summary)
		}
		return v.State == whittle.Different
	})
}
