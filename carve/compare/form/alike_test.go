package form

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare/comparetest"
	"whittle/carve/compare/jsondiff"
	"whittle/carve/compare/noise"
	"whittle/internal/simtest"
)

// playedOf plays n exchanges of what two sides say at $.v.
func playedOf(t *testing.T, f *Forms, n int, say func(r *rand.Rand, i, side int) string) *formPath {
	t.Helper()
	r := rand.New(rand.NewPCG(7, 8))
	f.take(noise.Key{Path: "$.v", Way: jsondiff.HowValue}, 0)
	for i := 1; i <= n; i++ {
		x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(i) * 100 * time.Millisecond)}
		x.Monolith.Body, x.Candidate.Body = []byte(say(r, i, Monolith)), []byte(say(r, i, Candidate))
		f.See(x, nil, 0.0019, i)
	}
	return f.paths[0]
}

// TestNumbersThatAreDrawnAlike: numbers and flags that both sides draw alike are not suspected,
// nor waited for after 1,500 exchanges, nor is the size of those that rise on each side.
func TestNumbersThatAreDrawnAlike(t *testing.T) {
	t.Parallel()
	for what, say := range map[string]func(r *rand.Rand, i, side int) string{
		"drawn": func(r *rand.Rand, _, _ int) string { return fmt.Sprintf(`{"v":%d}`, r.IntN(100)) },
		"risen": func(_ *rand.Rand, i, side int) string { return fmt.Sprintf(`{"v":%d}`, i*[]int{1, 2}[side]) },
		"flags": func(r *rand.Rand, _, _ int) string { return fmt.Sprintf(`{"v":%t}`, r.IntN(2) == 0) },
	} {
		f := formsOf(t, comparetest.FormComparison)
		p := playedOf(t, f, 1500, say)
		if p.lead() != nil {
			t.Errorf("%s: suspected", what)
		}
		if b, waits := f.Bound(1500); waits {
			t.Errorf("%s: waits for %s", what, b.Summary)
		}
	}
}

// TestSeldomNumbers: what seldom comes is waited for, but not for ever, and the coverage says
// then how little is known. What comes in each response is waited for until it is known.
func TestSeldomNumbers(t *testing.T) {
	t.Parallel()
	seldom := func(r *rand.Rand, i, _ int) string {
		if i%30 > 0 {
			return fmt.Sprintf(`{"w":%d}`, r.IntN(1e6))
		}
		return fmt.Sprintf(`{"v":%d}`, r.IntN(100))
	}
	always := func(r *rand.Rand, _, side int) string { // larger in 57 % of the pairs
		return fmt.Sprintf(`{"v":%d}`, int(r.ExpFloat64()*[]float64{100, 130}[side]))
	}
	for _, c := range []struct {
		say     func(*rand.Rand, int, int) string
		n, most int // exchanges so far, and that it may say to be missing
		waits   bool
	}{{seldom, 1900, 100, true}, {seldom, 2100, 0, false}, {always, 1900, 3000, true}, {always, 2100, 3000, true}} {
		f := formsOf(t, comparetest.FormComparison)
		playedOf(t, f, c.n, c.say)
		if b, is := f.Bound(c.n); is != c.waits || b.More > c.most {
			t.Errorf("after %d: waits %t for %d: %s", c.n, is, b.More, b.Summary)
		}
		var cover whittle.Coverage
		if f.Cover(&cover, c.n); c.waits == strings.Contains(fmt.Sprint(cover.NotCompared), "(draw)") {
			t.Errorf("after %d: the coverage does not say how little is known: %+v", c.n, cover)
		}
	}
}

// TestStateOfHugeNumbers: numbers that no float holds are kept as the largest ones, and of
// places whose state is too long together as many are kept as fit.
func TestStateOfHugeNumbers(t *testing.T) {
	t.Parallel()
	f := formsOf(t, comparetest.FormComparison)
	for i := range most {
		f.take(noise.Key{Path: fmt.Sprintf("$.v%d", i), Way: jsondiff.HowValue}, 0)
	}
	r := rand.New(rand.NewPCG(7, 8))
	say := func() []byte {
		list := make([]string, most)
		for i := range list {
			list[i] = fmt.Sprintf(`"v%d":%de999`, i, r.IntN(1000)-500)
			if i%8 > 0 {
				list[i] = fmt.Sprintf(`"v%d":%.9f`, i, r.NormFloat64())
			}
		}
		return []byte("{" + strings.Join(list, ",") + "}")
	}
	for n := 1; n <= 300; n++ {
		x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(n) * 100 * time.Millisecond)}
		x.Monolith.Body, x.Candidate.Body = say(), say()
		f.See(x, nil, 0.0019, n)
	}
	b := stateOf(t, f)
	g := formsOf(t, comparetest.FormComparison)
	if err := g.UnmarshalJSON(b); err != nil || len(g.paths) == 0 {
		t.Fatalf("%d places are kept: %v", len(g.paths), err)
	}
	if one := len(b) / len(g.paths); len(g.paths) < most && len(b)+4*one < stateMost {
		t.Errorf("%d of %d places are kept, in %d bytes of %d", len(g.paths), most, len(b), stateMost)
	}
}

// TestNumbersOfAsking: views of which each server counts its own are each of another size, and
// nobody's fault; the monolith's own second response shows that asking makes them so. Numbers
// that are drawn are none of them.
func TestNumbersOfAsking(t *testing.T) {
	t.Parallel()
	for name, counts := range map[string]bool{"counted": true, "drawn": false} {
		r := rand.New(rand.NewPCG(7, 9))
		f := formsOf(t, comparetest.FormComparison)
		f.take(noise.Key{Path: "$.v", Way: jsondiff.HowValue}, 0)
		var views [2][40]int
		say := func(side, key int) []byte {
			views[side][key]++
			v := views[side][key]
			if side == Monolith {
				v += 100
			}
			if !counts {
				v = r.IntN(100 + 20*side)
			}
			return fmt.Appendf(nil, `{"v":%d}`, v)
		}
		for i := 1; i <= 2000; i++ {
			key := r.IntN(40)
			x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(i) * 50 * time.Millisecond)}
			x.Monolith.Body, x.Candidate.Body = say(Monolith, key), say(Candidate, key)
			var again []byte
			if i%20 == 0 {
				again = say(Monolith, key)
			}
			f.See(x, again, 0.0019, i)
		}
		p := f.paths[0]
		if led := p.lead() != nil; led == counts {
			t.Errorf("%s: suspected %t", name, led)
		}
	}
}

// TestClocksApart: of a time in seconds it is no matter how large it is.
func TestClocksApart(t *testing.T) {
	t.Parallel()
	f := formsOf(t, comparetest.FormComparison)
	f.take(noise.Key{Path: "$.v", Way: jsondiff.HowValue}, 0)
	for i := 1; i <= 1000; i++ {
		x := &whittle.Exchange{At: simtest.Start.Add(time.Duration(i) * 100 * time.Millisecond)}
		x.Monolith.Body = fmt.Appendf(nil, `{"v":%d}`, x.At.Unix()+900)
		x.Candidate.Body = fmt.Appendf(nil, `{"v":%d}`, x.At.Unix()+908)
		f.See(x, nil, 0.0019, i)
	}
	p := f.paths[0]
	if suspected := p.lead(); suspected != nil {
		t.Errorf("suspected: %+v", suspected)
	}
}
