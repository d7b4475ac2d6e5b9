package compare

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/compare/eprocess"
	"whittle/carve/compare/form"
)

// TestWhatIsShownOfHeaders: what matters is shown whatever varies or is declared
// next to it.
func TestWhatIsShownOfHeaders(t *testing.T) {
	type world struct {
		expect              []whittle.Expectation
		monolith, candidate func(r *rand.Rand, i int) whittle.Header
		path                string
	}
	random := func(r *rand.Rand) string { return fmt.Sprintf("/%c%x", 'a'+r.IntN(26), r.Uint32()) }
	one := func(name, value string) func(*rand.Rand, int) whittle.Header {
		return func(*rand.Rand, int) whittle.Header { return whittle.Header{name: {value}} }
	}
	none := func(*rand.Rand, int) whittle.Header { return whittle.Header{} }
	lost := []whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Location", To: "missing", Reason: "on purpose"}}
	for name, w := range map[string]world{
		"a lost header of many values": {nil, func(r *rand.Rand, i int) whittle.Header {
			return whittle.Header{"Link": {fmt.Sprintf("</%c%d>", 'a'+i*7%26, i)}}
		}, none, "Link"},
		"one address in place of many": {nil, func(_ *rand.Rand, i int) whittle.Header {
			return whittle.Header{"Location": {fmt.Sprintf("/%c%d", 'a'+i*7%26, i)}}
		}, one("Location", "/m1"), "Location"},
		"next to a noisy header whose loss is declared": {lost, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"no-store"}}
		}, one("Cache-Control", "public"), "Cache-Control"},
		"next to an address that varies": {nil, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"no-store"}}
		}, func(r *rand.Rand, _ int) whittle.Header {
			return whittle.Header{"Location": {random(r)}, "Cache-Control": {"public"}}
		}, "Cache-Control"},
		"behind a past of what is declared": {
			[]whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Set-Cookie", From: "missing", Reason: "new"}},
			func(_ *rand.Rand, i int) whittle.Header {
				return pick(i > 500, whittle.Header{"Set-Cookie": {"sid=1"}})
			},
			func(_ *rand.Rand, i int) whittle.Header {
				return pick(i <= 500, whittle.Header{"Set-Cookie": {"sid=1"}})
			}, "Set-Cookie",
		},
		"what is declared the other way round": {
			[]whittle.Expectation{{Kind: whittle.FoundHeader, Path: "Set-Cookie", From: "missing", Reason: "new"}}, one("Set-Cookie", "sid=1"), none, "Set-Cookie",
		},
	} {
		for _, learns := range []bool{true, false} {
			if name == "one address in place of many" && !learns {
				continue // takes repeats
			}
			every := 20
			if name == "next to an address that varies" && !learns {
				every = 2000 // not even by repeats
			}
			r := rand.New(rand.NewPCG(8, 8))
			j := learningJudge(t, learns, w.expect...)
			open := 0
			differ := 0
			for i := range 1000 {
				x := withHeaders(i, every, func(side int) whittle.Header {
					return [...]func(*rand.Rand, int) whittle.Header{w.monolith, w.candidate, w.monolith}[side](r, i)
				})
				open += int(eprocess.Indicator(name != "behind a past of what is declared" || i > 500))
				differ += int(eprocess.Indicator(j.Observe(x).Differs))
			}
			v := j.Verdict()
			shown := ""
			for _, f := range findingsOf(&v, whittle.FoundHeader) {
				if f.Decided && f.Expected == "" {
					shown += f.Path + " "
					byRepeats := name == "one address in place of many"
					if f.Cause != "" || learns && byRepeats && f.DecidedAt < 20 || learns && !byRepeats && f.DecidedAt > 20 && w.path != "Set-Cookie" {
						t.Errorf("%s: %+v", name, f)
					}
				}
			}
			if v.State != whittle.Different || !strings.Contains(shown, w.path) || every == 20 && strings.Trim(strings.ReplaceAll(shown, w.path, ""), " ") != "" || differ < open-100 {
				t.Errorf("%s, learning %t: %q shown, %d reported: %s", name, learns, shown, differ, v.Summary)
			}
		}
	}

	// What differs once does not take the blame for what always does.
	j := learningJudge(t, true)
	for i := range 2000 {
		j.Observe(withHeaders(i, 20, func(side int) whittle.Header {
			h := whittle.Header{"Location": {"/a"}, "Cache-Control": {"no-store"}}
			if side == form.Candidate || side == form.Repeat && i == 999 {
				delete(h, "Location")
			}
			if side == form.Candidate && i == 700 {
				delete(h, "Cache-Control")
			}
			return h
		}))
	}
	v := j.Verdict()
	if list := findingsOf(&v, whittle.FoundHeader); v.State != whittle.Different || !list[0].Decided || list[0].Path != "Location" {
		t.Errorf("%s: %+v", v.Summary, list)
	}

	// Fourteen that vary do not hide one that is wrong.
	c := testMatch
	for i := range whittle.MaxHeaders {
		c.Headers = append(c.Headers, fmt.Sprintf("X-%d", i))
	}
	j = judgeOf(t, c)
	r := rand.New(rand.NewPCG(9, 9))
	varied := func(last string) whittle.Header {
		h := whittle.Header{"X-15": {last}}
		for _, name := range c.Headers[:14] {
			h[name] = []string{random(r)}
		}
		return h
	}
	for i := range 1000 {
		j.Observe(withHeaders(i, 5, func(side int) whittle.Header {
			return varied(either(side == form.Candidate && i > 200, "wrong", "right"))
		}))
	}
	v = j.Verdict()
	var shown []string
	for _, f := range findingsOf(&v, whittle.FoundHeader) {
		if f.Decided {
			shown = append(shown, f.Summary)
		}
	}
	if v.State != whittle.Different || len(shown) != 1 || !strings.Contains(shown[0], "X-15 has another form in 799 of 1,000 responses, 799 times right → wrong") {
		t.Errorf("%s: %q", v.Summary, shown)
	}
}
