package sum

import (
	"math/bits"
	"testing"
)

// BenchmarkDraw sets the kernel next to one word a draw, on the same generator.
func BenchmarkDraw(b *testing.B) {
	const n = 1 << 16
	for _, way := range []struct {
		name string
		draw func(g *generator, n int) uint64
	}{
		{"bytes", (*generator).draw},
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
