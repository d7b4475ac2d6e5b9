package sum

import "math/bits"

// faces is how many equally likely outcomes one draw has: with k uniform in
// 0..199 the value (k+1)>>1 is 0 and 100 with probability 1/200 each and every
// value between with 1/100, which is the law of Math.round(Math.random()*100).
const faces = 200

// pairs holds the sum of two draws, by the two outcomes as one number in base
// 200. One look-up then stands for two draws. It takes 40,000 bytes, which
// stays in the second-level cache at worst.
var pairs = func() (t [faces * faces]uint8) {
	for i := range t {
		t[i] = value(uint64(i)/faces) + value(uint64(i)%faces)
	}
	return t
}()

// value turns an outcome k, 0 to 199, into the number drawn, 0 to 100.
func value(k uint64) uint8 { return uint8((k + 1) >> 1) }

// draw makes n draws and adds them up; n above 2^57 would overflow.
//
// A 64-bit word is read as a fraction in [0, 1). Multiplied by 200² its whole
// part is two outcomes and what is left is the next fraction, so a word gives
// four draws. Four words go side by side to keep the multiplier busy. The n%4
// last draws take a word of their own.
//
// The outcomes are not exactly uniform, since 200⁴ does not divide 2^64: each
// of the 200⁴ quadruples has a probability within 2^-64 of 200^-4, so the law
// of a quadruple is within 200⁴/2^65 < 4.4e-11 of the right one in total
// variation, and so is every single draw.
func (g *generator) draw(n int) uint64 {
	var s0, s1 uint64
	for ; n >= 16; n -= 16 {
		h0, u0 := bits.Mul64(g.next(), faces*faces)
		h1, u1 := bits.Mul64(g.next(), faces*faces)
		h2, u2 := bits.Mul64(g.next(), faces*faces)
		h3, u3 := bits.Mul64(g.next(), faces*faces)
		s0 += uint64(pairs[h0]) + uint64(pairs[h1])
		s1 += uint64(pairs[h2]) + uint64(pairs[h3])
		h0, _ = bits.Mul64(u0, faces*faces)
		h1, _ = bits.Mul64(u1, faces*faces)
		h2, _ = bits.Mul64(u2, faces*faces)
		h3, _ = bits.Mul64(u3, faces*faces)
		s0 += uint64(pairs[h0]) + uint64(pairs[h1])
		s1 += uint64(pairs[h2]) + uint64(pairs[h3])
	}
	sum := s0 + s1
	for n > 0 {
		u := g.next()
		for range min(n, 4) {
			var k uint64
			k, u = bits.Mul64(u, faces)
			sum += uint64(value(k))
		}
		n -= min(n, 4)
	}
	return sum
}
