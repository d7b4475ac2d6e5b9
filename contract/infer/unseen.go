package infer

// maxShapes bounds how many shapes of exchanges are remembered.
const maxShapes = 2048

// unseen estimates how likely the next exchange has a shape that none before it
// had: the shapes that were seen exactly once, divided by the exchanges (I. J.
// Good, "The population frequencies of species and the estimation of
// population parameters", Biometrika 40, 1953, after Turing). A shape beyond those
// that are remembered counts as seen once, so that the estimate is never too low.
type unseen struct {
	n, once int
	again   map[uint64]bool // by hash: seen more than once
}

func (u *unseen) see(hash uint64) {
	u.n++
	u.add(hash, false)
}

func (u *unseen) add(hash uint64, again bool) {
	was, known := u.again[hash]
	switch {
	case known && was:
	case known:
		u.again[hash] = true
		u.once--
	default:
		if !again {
			u.once++
		}
		if u.again == nil {
			u.again = map[uint64]bool{}
		}
		if len(u.again) < maxShapes {
			u.again[hash] = again
		}
	}
}

func (u *unseen) absorb(o *unseen) {
	once := o.once
	for h, again := range o.again {
		u.add(h, again)
		if !again {
			once--
		}
	}
	u.n += o.n
	u.once += once // of shapes that are not remembered
}

// share is the estimate, from 0 to 1; 1 before anything was seen.
func (u *unseen) share() float64 {
	if u.n == 0 {
		return 1
	}
	return min(1, float64(u.once)/float64(u.n))
}
