package engine

import (
	"math/rand/v2"
)

// population is the users. How often each comes follows a Zipf distribution; who is who in
// the split is drawn anew for every run.
type population struct {
	zipf *rand.Zipf
	salt uint64
}

func newPopulation(n int, seed uint64) *population {
	return &population{zipf: rand.NewZipf(source(seed, 8), 1.1, 8, uint64(n-1)), salt: source(seed, 9).Uint64()}
}

// place is where the split puts a user.
func (c *population) place(user uint64) uint64 { return mix(user + c.salt) }

// mix is the finaliser of SplitMix64.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
