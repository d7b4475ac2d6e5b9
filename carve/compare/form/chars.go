package form

import (
	"bytes"
	"encoding/binary"

	"whittle/carve/compare/digest"
	"whittle/carve/compare/jsondoc"
)

// Ids that are made anew have a form in common though they are made of other characters: a
// UUID whose end is always 0, a token without some letters, a code below 100000,
// microseconds of a clock that has milliseconds.

// Bounds of characters.
const (
	charEnds  = 4              // positions from either end that are told apart
	charCells = 2*charEnds + 1 // and those between
	charKinds = 64             // classes of characters
	charMost  = 64             // characters of a value
	charWarm  = 64             // of the monolith's before it is bet
	charHeld  = 0.75           // a position that the monolith's repeats keep as often holds a state
	charTwice = 8              // repeats before it is bet
	charFade  = 1 << 14        // after so many of a side in a cell both count half
	charAlike = 3.0            // standard errors by which the sides differ in a character
)

// charsMix counts which characters the two sides' values have where. In each exchange one
// position is looked at, which its number draws; not one that the monolith's repeats
// keep, such as the part of an id that names a server.
//
// Hypothesis: the characters of both sides at that position are exchangeable given the
// request and the past. Which characters are the candidate's, or the monolith's, is chosen
// from the past, and the payoff is 1[candidate's has one] − 1[monolith's has one], so a bet
// wins nothing in the long run. It breaks where a part of an id is a state of each server's
// that moves, such as a counter; so it is no proof, and keeps EQUIVALENT from being said.
// Error rate: 1 in rangeSuspect for each place. Source: Ville's inequality; Shekhar & Ramdas
// 2023, arXiv 2112.09162.
type charsMix struct {
	count [charCells][charKinds][2]uint16
	of    [charCells][2]uint16
	// Of n repeats, so many kept the monolith's character at a position.
	kept [charMost]uint16
	n    uint16
}

// charKind is the class of a character: of each letter and digit its own, and one of all
// marks.
func charKind(b byte) byte {
	switch {
	case b|0x20 >= 'a' && b|0x20 <= 'z':
		return b % charKinds
	case b >= '0' && b <= '5': // where no letter is
		return b - '0' + 'Z'%charKinds + 1
	case b >= '6' && b <= '9':
		return b - '6' + 'z'%charKinds + 1
	}
	return 0
}

// comparesChars reports whether values of a class are made of characters that say something.
func comparesChars(c formClass) bool {
	switch c {
	case classUUID, classULID, classDigits, classHex, classToken, classBase64, classBase64URL, classTime:
		return true
	}
	return false
}

// charsOfValue are those that are looked at; nil: there are none.
func charsOfValue(values []value) []byte {
	if len(values) != 1 || !comparesChars(values[0].form.class) {
		return nil
	}
	s := values[0].raw
	if bytes.IndexByte(s, '\\') > 0 && s[0] == '"' { // such as a slash, which PHP escapes
		s, _ = jsondoc.Unquote(nil, s)
	}
	s = bytes.Trim(s, `"`)
	return s[:min(len(s), charMost)]
}

// position is where the values are looked at in exchange n: so many from the start, or from
// the end. It is scattered, for a counter's last digit comes again with every tenth exchange.
func (c *charsMix) position(s []byte, n int) (cell, at int, ok bool) {
	if len(s) == 0 || c.n < charTwice {
		return 0, 0, false
	}
	h := digest.Stir(uint64(n))
	from, back := int(h>>1%uint64(len(s))), h&1 == 1
	if at = from; back {
		at = len(s) - 1 - from
	}
	if float64(c.kept[at]) > charHeld*float64(c.n) {
		return 0, 0, false
	}
	switch {
	case from >= charEnds:
		return 2 * charEnds, at, true
	case back:
		return charEnds + from, at, true
	}
	return from, at, true
}

// category says whose character a value has.
func (c *charsMix) category(list []category, values []value, n int) []category {
	if c == nil {
		return list
	}
	s := charsOfValue(values)
	if cell, at, ok := c.position(s, n); ok {
		list = append(list, c.whose(cell, charKind(s[at])))
	}
	return list
}

// whose says whether a character is one of those that tell the sides apart: that the
// candidate has more often or, where there are none, that the monolith does not.
func (c *charsMix) whose(cell int, char byte) category {
	odd := c.more(cell, int(char), Candidate) ||
		!c.any(cell, Candidate) && c.any(cell, Monolith) && !c.more(cell, int(char), Monolith)
	return either(odd, "as usual", "characters that the monolith has there less often")
}

// any reports whether a side has some character clearly more often than the other.
func (c *charsMix) any(cell, side int) bool {
	for k := range charKinds {
		if c.more(cell, k, side) {
			return true
		}
	}
	return false
}

// more reports whether a side has a character clearly more often than the other.
func (c *charsMix) more(cell, k, side int) bool {
	x, y := float64(c.count[cell][k][side]), float64(c.count[cell][k][1-side])
	nx, ny := float64(c.of[cell][side]), float64(c.of[cell][1-side])
	if x == 0 || nx == 0 || ny == 0 {
		return false
	}
	d := x/nx - y/ny
	return d > 0 && d*d > charAlike*charAlike*(x+y)/(nx+ny)*(1/nx+1/ny)
}

// see takes the values of an exchange.
func (c *charsMix) see(e *formExchange) {
	for side, values := range [2][]value{e.monolith, e.candidate} {
		s := charsOfValue(values)
		if cell, at, ok := c.position(s, e.n); ok {
			k := charKind(s[at])
			c.count[cell][k][side]++
			if c.of[cell][side]++; c.of[cell][side] >= charFade {
				c.fade(cell)
			}
		}
	}
	s, again := charsOfValue(e.monolith), charsOfValue(e.repeat)
	if !e.again || len(s) == 0 || len(again) == 0 {
		return
	}
	for i := range min(len(s), len(again)) {
		if s[i] == again[i] {
			c.kept[i]++
		}
	}
	if c.n++; c.n >= charFade {
		c.n /= 2
		for i := range c.kept {
			c.kept[i] /= 2
		}
	}
}

func (c *charsMix) fade(cell int) {
	for side := range c.of[cell] {
		c.of[cell][side] /= 2
		for k := range c.count[cell] {
			c.count[cell][k][side] /= 2
		}
	}
}

// madeAnew reports whether both sides' values are new each time, so that they come out of no
// set of each side's own.
func (p *formPath) madeAnew() bool {
	t := &p.feature[featRepeat]
	return t.M.N >= charWarm && 50*t.M.count(1) <= t.M.N && 50*t.C.count(1) <= t.C.N
}

// numbers calls f for all that is kept, in a fixed order.
func (c *charsMix) numbers(f func(n *uint16)) {
	f(&c.n)
	for i := range c.kept {
		f(&c.kept[i])
	}
	for cell := range c.count {
		for side := range c.of[cell] {
			f(&c.of[cell][side])
			for k := range c.count[cell] {
				f(&c.count[cell][k][side])
			}
		}
	}
}

// pack writes the numbers; of a row of zeros, one and how many.
func (c *charsMix) pack() (b []byte) {
	if c == nil {
		return nil
	}
	zeros := uint64(0)
	end := func() {
		if zeros > 0 {
			b = binary.AppendUvarint(append(b, 0), zeros)
			zeros = 0
		}
	}
	c.numbers(func(n *uint16) {
		if *n == 0 {
			zeros++
			return
		}
		end()
		b = binary.AppendUvarint(b, uint64(*n))
	})
	end()
	return b
}

// unpackChars reads what pack wrote; false: it did not.
func unpackChars(b []byte) (c *charsMix, ok bool) {
	c, ok = &charsMix{}, true
	zeros := uint64(0)
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	c.numbers(func(n *uint16) {
		if zeros > 0 {
			zeros--
			return
		}
		v := next()
		if v == 0 {
			zeros = next() - 1
			return
		}
		ok = ok && v <= charFade
		*n = uint16(v)
	})
	return c, ok && len(b) == 0 && zeros == 0
}
