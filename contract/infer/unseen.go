package infer

import "math/bits"

// maxShapes bounds how many shapes of exchanges are remembered.
const maxShapes = 2048

// unseen estimates how likely the next exchange has a shape that none before it
// had: the shapes that were seen exactly once, divided by the exchanges (I. J.
// Good, "The population frequencies of species and the estimation of
// population parameters", Biometrika 40, 1953, after Turing). Where there are
// more shapes than may be remembered, it keeps those whose hash ends in so many
// zeros and scales up (P. Flajolet, "On adaptive sampling", Computing 43, 1990,
// after Wegman).
type unseen struct {
	n, level int
	again    map[uint64]bool // by hash: seen more than once
	once     int
}

func (u *unseen) see(hash uint64) {
	u.n++
	u.add(hash, false)
}

func (u *unseen) add(hash uint64, again bool) {
	if bits.TrailingZeros64(hash) < u.level {
		return
	}
	if u.again == nil {
		u.again = map[uint64]bool{}
	}
	was, known := u.again[hash]
	switch {
	case !known:
		u.again[hash] = again
		if !again {
			u.once++
		}
	case !was:
		u.again[hash] = true
		u.once--
	}
	for len(u.again) > maxShapes {
		u.thin(u.level + 1)
	}
}

func (u *unseen) thin(level int) {
	u.level = level
	for h, again := range u.again {
		if bits.TrailingZeros64(h) < level {
			delete(u.again, h)
			if !again {
				u.once--
			}
		}
	}
}

func (u *unseen) absorb(o *unseen) {
	if o.level > u.level {
		u.thin(o.level)
	}
	u.n += o.n
	for h, again := range o.again {
		u.add(h, again)
	}
}

// share is the estimate, from 0 to 1; 1 before anything was seen.
func (u *unseen) share() float64 {
	if u.n == 0 {
		return 1
	}
	return min(1, float64(u.once)*float64(uint64(1)<<u.level)/float64(u.n))
}
