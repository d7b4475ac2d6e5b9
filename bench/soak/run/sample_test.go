package run

import (
	"math"
	"math/rand/v2"
	"testing"
)

// series is one of n samples about 100 that grows by so much in all: with noise, of
// which a part is each sample's neighbour's, and a sawtooth.
func series(r *rand.Rand, n int, grows, noise, kept float64) []float64 {
	s, e := make([]float64, n), 0.0
	for i := range s {
		e = kept*e + math.Sqrt(1-kept*kept)*noise*r.NormFloat64()
		s[i] = 100 + grows*float64(i)/float64(n) + e + float64(i%7)
	}
	return s
}

// TestTrend holds what is called flat to growth that is known. Growth at the margin
// passes in one of a hundred, also where neighbours depend on each other; a steady
// series passes nearly always where its noise allows to say so, and never where not.
func TestTrend(t *testing.T) {
	const rounds, margin = 2000, 10
	for name, tt := range map[string]struct {
		n                  int
		grows, noise, kept float64
		least, most        int
	}{
		"steady":                {300, 0, 3, 0, rounds * 99 / 100, rounds},
		"grows by the margin":   {300, margin, 3, 0, 0, rounds * 2 / 100},
		"the same, with memory": {300, margin, 3, 0.5, 0, rounds * 2 / 100},
		"by twice the margin":   {300, 2 * margin, 3, 0.9, 0, rounds / 500},
		"too restless to say":   {300, 0, 60, 0, 0, rounds / 3},
		"too short":             {blocks*blockSamples - 1, 0, 0, 0, 0, 0},
	} {
		r, flat := rand.New(rand.NewPCG(1, 2)), 0
		for range rounds {
			if trend(series(r, tt.n, tt.grows, tt.noise, tt.kept), blockSamples, margin).Flat {
				flat++
			}
		}
		if flat < tt.least || flat > tt.most {
			t.Errorf("%s: %d of %d are flat, want %d to %d", name, flat, rounds, tt.least, tt.most)
		}
	}
}
