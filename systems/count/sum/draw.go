package sum

const (
	// faces is how many equally likely outcomes one draw has: with k uniform
	// in 0..199 the value (k+1)>>1 is 0 and 100 with probability 1/200 each
	// and every value between with 1/100, which is the distribution of
	// Math.round(Math.random()*100).
	faces = 200

	// block is how many bytes, and so at most how many draws, are taken at
	// once: 16 words, so that no lane of draw's sums can overflow.
	block = 128
)

// A word as eight bytes, or four lanes of 16 bits.
const (
	ones  = 0x0101010101010101
	tops  = 0x8080808080808080
	evens = 0x00ff00ff00ff00ff
)

// draw makes exactly n draws and adds them up.
//
// Every byte of a random word is an outcome k, unless it is 200 or above and
// left out, so the distribution is exact: it has no more bias than the generator. Eight
// bytes are judged, turned into values and added up at once in the lanes of a
// word. As a block may give as many draws as it has bytes, the last ones are
// taken byte by byte.
func (g *generator) draw(n int) uint64 {
	s := g.state // in registers, where *g would go through memory
	var sum uint64
	for n >= block {
		var lanes, out uint64 // 16-bit sums of values, 8-bit counts of bytes left out
		for range block / 16 {
			var w0, w1 uint64
			w0, s = s.next()
			w1, s = s.next()
			v0, out0 := values(w0)
			v1, out1 := values(w1)
			v := v0 + v1 // at most 200 a byte
			lanes += v&evens + v>>8&evens
			out += out0 + out1
		}
		sum += lanes * 0x0001000100010001 >> 48
		n -= block - int(out*ones>>56)
	}
	for n > 0 {
		var w uint64
		w, s = s.next()
		for i := 0; i < 64 && n > 0; i += 8 {
			if k := w >> i & 0xff; k < faces {
				sum += (k + 1) >> 1
				n--
			}
		}
	}
	g.state = s
	return sum
}

// values turns each byte of w into the value drawn, 0 to 100. Where a byte is
// no outcome it gives 0 there, and 1 in the same byte of out.
func values(w uint64) (v, out uint64) {
	// 200 and above: the top bit is set, and the rest is 72 or more.
	out = (w & ((w &^ tops) + 56*ones) & tops) >> 7
	v = ((w>>1)&^tops + w&ones) &^ (out * 0xff)
	return v, out
}
