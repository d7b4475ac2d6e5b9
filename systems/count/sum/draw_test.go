package sum

import (
	"math"
	"testing"
	"testing/quick"

	"gonum.org/v1/gonum/stat/distuv"
)

// slowly is the definition that draw must agree with: byte by byte, in the
// same blocks of words. It hands each drawn value to see.
func (g *generator) slowly(n int, see func(v int)) {
	for n > 0 {
		words := 1
		if n >= block {
			words = block / 8
		}
		for range words {
			var word uint64
			word, g.state = g.next()
			for i := 0; i < 8 && n > 0; i++ {
				if k := int(byte(word >> (8 * i))); k < faces {
					see((k + 1) / 2)
					n--
				}
			}
		}
	}
}

func TestDrawIsTheSumOfItsBytes(t *testing.T) {
	agree := func(seed Seed, size uint16) bool {
		fast, slow := newGenerator(seed), newGenerator(seed)
		var want, drawn uint64
		slow.slowly(int(size), func(v int) { want += uint64(v); drawn++ })
		return fast.draw(int(size)) == want && drawn == uint64(size) && *fast == *slow
	}
	if err := quick.Check(agree, nil); err != nil {
		t.Error(err)
	}
	for n := range 3 * block {
		if !agree(testSeed(n), uint16(n)) {
			t.Errorf("draw(%d) is not the sum of its bytes", n)
		}
	}
}

// TestLanesDoNotOverflow adds up a block at its greatest: every byte 199.
func TestLanesDoNotOverflow(t *testing.T) {
	v, _ := values(199 * ones)
	lanes := uint64(block/16) * ((2*v)&evens + (2*v)>>8&evens)
	if 2*(v>>56) > 0xff || lanes*0x0001000100010001>>48 != 100*block {
		t.Errorf("a block of hundreds adds up to %d, want %d", lanes*0x0001000100010001>>48, 100*block)
	}
	_, out := values(0xff * ones)
	if out*(block/8)*ones>>56 != block {
		t.Errorf("a block of bytes left out counts %d, want %d", out*(block/8)*ones>>56, block)
	}
}

// testSeed spreads a small number over a whole seed by splitmix64.
func testSeed(n int) (s Seed) {
	x := uint64(n)
	for i := range s {
		x += 0x9e3779b97f4a7c15
		z := (x ^ x>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		s[i] = z ^ z>>31
	}
	return s
}

// probability is the probability of each value.
func probability(v int) float64 {
	if v == 0 || v == 100 {
		return 1. / 200
	}
	return 1. / 100
}

// TestDrawsFollowTheMonolithsDistribution takes 4 million draws from fixed seeds and
// looks at all 101 values at once. The seeds are fixed, so it passes always or
// never; the bounds are those of a fair test all the same.
func TestDrawsFollowTheMonolithsDistribution(t *testing.T) {
	const draws = 4_000_000
	for worker := range 3 {
		var seen [101]int
		newGenerator(testSeed(worker)).slowly(draws, func(v int) { seen[v]++ })
		var chi2, mean, square float64
		for v, n := range seen {
			want := probability(v) * draws
			chi2 += (float64(n) - want) * (float64(n) - want) / want
			mean += float64(n) * float64(v) / draws
			square += float64(n) * float64(v) * float64(v) / draws
		}
		if p := (distuv.ChiSquared{K: 100}).Survival(chi2); p < 1e-4 {
			t.Errorf("worker %d: chi-square %.1f over 101 values, p = %.2g", worker, chi2, p)
		}
		// The distribution has mean 50 and variance 833.5: Σ v²/100 over 1..99, plus
		// 100²/200, minus 50².
		const variance = 833.5
		if z := (mean - 50) / math.Sqrt(variance/draws); math.Abs(z) > 4 {
			t.Errorf("worker %d: mean %.4f is %.1f standard errors from 50", worker, mean, z)
		}
		if got := square - mean*mean; math.Abs(got-variance) > 2 {
			t.Errorf("worker %d: variance %.2f, want %.1f", worker, got, variance)
		}
	}
}

// TestDrawsTellNothingOfEachOther looks for a correlation from one draw to
// later ones, and between two workers.
func TestDrawsAreIndependent(t *testing.T) {
	const draws = 1 << 20
	series := func(worker int) []float64 {
		s := make([]float64, 0, draws)
		newGenerator(testSeed(worker)).slowly(draws, func(v int) { s = append(s, float64(v)-50) })
		return s
	}
	a, b := series(0), series(1)
	for _, c := range []struct {
		name string
		x, y []float64
	}{
		{"lag 1", a[1:], a[:draws-1]},
		{"lag 2", a[2:], a[:draws-2]},
		{"lag 6, next words", a[6:], a[:draws-6]},
		{"lag 100, next blocks", a[100:], a[:draws-100]},
		{"two workers", a, b},
		{"two workers, one behind", a[1:], b[:draws-1]},
	} {
		var xy float64
		for i := range c.x {
			xy += c.x[i] * c.y[i]
		}
		if z := xy / 833.5 / math.Sqrt(float64(len(c.x))); math.Abs(z) > 4 {
			t.Errorf("%s: correlation %.1f standard errors from none", c.name, z)
		}
	}
}

// TestGeneratorIsXoshiro holds the generator to the reference vector for the
// state 1, 2, 3, 4.
func TestGeneratorIsXoshiro(t *testing.T) {
	g := newGenerator(Seed{1, 2, 3, 4})
	for i, want := range []uint64{41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205} {
		var got uint64
		if got, g.state = g.next(); got != want {
			t.Errorf("word %d = %d, want %d", i, got, want)
		}
	}
}

func TestSystemSeedsAreNeverShared(t *testing.T) {
	seen := map[uint64]bool{}
	for worker := range 1000 {
		for _, word := range systemSeed(worker) {
			if seen[word] {
				t.Fatalf("a word of worker %d's seed was given before", worker)
			}
			seen[word] = true
		}
	}
}
