package sum

import (
	"math/bits"
	"testing"
)

// BenchmarkDraw sets the kernel next to the ways that lost to it, on the same
// generator.
func BenchmarkDraw(b *testing.B) {
	const n = 1 << 16
	for _, way := range []struct {
		name string
		draw func(g *generator, n int) uint64
	}{
		{"bytes", (*generator).draw},
		{"pairs", pairByPair},
		{"digits", digitByDigit},
		{"word", wordByWord},
	} {
		b.Run(way.name, func(b *testing.B) {
			g := newGenerator(testSeed(0))
			var sum uint64
			for b.Loop() {
				sum += way.draw(g, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/draw")
			drawn = sum
		})
	}
}

// drawn keeps the compiler from leaving the draws out.
var drawn uint64

// wordByWord spends a random word on each draw.
func wordByWord(g *generator, n int) (sum uint64) {
	s := g.state
	for range n {
		var w uint64
		w, s = s.next()
		k, _ := bits.Mul64(w, faces)
		sum += (k + 1) >> 1
	}
	g.state = s
	return sum
}

// digitByDigit reads a word as a fraction in base 200: its first four digits
// are four draws, with a bias below 200⁴/2^64. Four words go side by side. n is
// a multiple of 16.
func digitByDigit(g *generator, n int) (sum uint64) {
	s := g.state
	for ; n > 0; n -= 16 {
		var u0, u1, u2, u3, h0, h1, h2, h3 uint64
		u0, s = s.next()
		u1, s = s.next()
		u2, s = s.next()
		u3, s = s.next()
		for range 4 {
			h0, u0 = bits.Mul64(u0, faces)
			h1, u1 = bits.Mul64(u1, faces)
			h2, u2 = bits.Mul64(u2, faces)
			h3, u3 = bits.Mul64(u3, faces)
			sum += (h0+1)>>1 + (h1+1)>>1 + (h2+1)>>1 + (h3+1)>>1
		}
	}
	g.state = s
	return sum
}

// pairs holds the sum of two draws by their two outcomes as one number in base
// 200.
var pairs = func() (t [faces * faces]uint8) {
	for i := range t {
		t[i] = uint8((i/faces+1)>>1 + (i%faces+1)>>1)
	}
	return t
}()

// pairByPair is digitByDigit with one look-up for two digits. n is a multiple
// of 16. It slows down where others use the cache.
func pairByPair(g *generator, n int) (sum uint64) {
	s := g.state
	for ; n > 0; n -= 16 {
		var u0, u1, u2, u3, h0, h1, h2, h3 uint64
		u0, s = s.next()
		u1, s = s.next()
		u2, s = s.next()
		u3, s = s.next()
		for range 2 {
			h0, u0 = bits.Mul64(u0, faces*faces)
			h1, u1 = bits.Mul64(u1, faces*faces)
			h2, u2 = bits.Mul64(u2, faces*faces)
			h3, u3 = bits.Mul64(u3, faces*faces)
			sum += uint64(pairs[h0]) + uint64(pairs[h1]) + uint64(pairs[h2]) + uint64(pairs[h3])
		}
	}
	g.state = s
	return sum
}
