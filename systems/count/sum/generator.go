package sum

import (
	"crypto/rand"
	"encoding/binary"
	"math/bits"
)

// Seed is the whole starting state of one worker's generator. The zero Seed is
// not one: the generator would give zeros for ever.
type Seed [4]uint64

// generator is xoshiro256++ 1.0 of Blackman and Vigna (2019, "Scrambled linear
// pseudorandom number generators", arXiv 1805.01407): period 2^256 − 1, no
// known statistical flaw. Streams from random seeds are in effect independent:
// that any two of a million streams of 2^64 words overlap has a probability
// below 2^-150.
type generator struct{ state }

type state struct{ a, b, c, d uint64 }

func newGenerator(s Seed) *generator { return &generator{state{s[0], s[1], s[2], s[3]}} }

// next returns a word and the state after it.
func (s state) next() (uint64, state) {
	word := bits.RotateLeft64(s.a+s.d, 23) + s.a
	c, d := s.c^s.a, s.d^s.b
	return word, state{s.a ^ d, s.b ^ c, c ^ s.b<<17, bits.RotateLeft64(d, 45)}
}

// systemSeed takes 256 bits from the operating system's generator, which never
// fails (crypto/rand ends the process rather than give weak bits).
func systemSeed(int) Seed {
	var raw [32]byte
	var s Seed
	for s == (Seed{}) {
		_, _ = rand.Read(raw[:])
		for i := range s {
			s[i] = binary.LittleEndian.Uint64(raw[8*i:])
		}
	}
	return s
}
