package compare

import (
	"testing"

	"whittle/carve/compare/comparetest"
)

func BenchmarkMatch(b *testing.B) {
	m := matchOf(b, testMatch)
	x := exchange(comparetest.Orders(50, false), comparetest.Orders(50, true))
	b.ReportAllocs()
	for b.Loop() {
		m.Observe(x)
	}
}
