// Package backtrack says whether a regular expression of JavaScript's takes exponential
// time where it does not match. It proves this, or says nothing.
//
// A backtracking matcher tries every way to read a text. An expression is exponentially
// ambiguous if one text leads from a place in it back to that place in two ways (Weber and
// Seidl 1991); each repetition of the text then doubles the ways.
package backtrack

import "slices"

// Bounds of what is looked at: an expression beyond them is not judged.
const (
	maxPattern   = 2000
	maxPositions = 120 // characters and classes, repetitions written out
	maxDepth     = 50
)

// Exponential reports whether an expression of JavaScript's, without its slashes and
// flags, is exponentially ambiguous in a loop after which a match may fail. False: it is
// not, or that is not known, as with assertions and back references.
func Exponential(pattern string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	p := &parser{text: pattern}
	whole, ok := p.parse()
	if !ok {
		return false
	}
	for from := range p.sets {
		if loop := p.ambiguous(from); loop != nil && (p.ends || slices.ContainsFunc(loop, func(at int) bool { return whole.last[at] == 0 })) {
			return true
		}
	}
	return false
}

// pair are the places of two readings of one text.
type pair struct{ a, b int }

// ambiguous gives the places of a loop through from that one text takes in two ways. nil:
// there is none.
func (p *parser) ambiguous(from int) []int {
	there := p.walk(pair{from, from}, p.next)
	back := p.walk(pair{from, from}, p.previous)
	for at := range there {
		if _, returns := back[at]; !returns {
			continue
		}
		if at.a != at.b || p.twice(at.a, there, back) {
			return []int{from, at.a, at.b}
		}
	}
	return nil
}

// twice reports whether a step from a place is there in two ways and on a loop.
func (p *parser) twice(at int, there, back map[pair]bool) bool {
	for to, ways := range p.follow[at] {
		if ways > 1 && there[pair{to, to}] && back[pair{to, to}] {
			return true
		}
	}
	return false
}

// walk gives what is reached from a pair.
func (p *parser) walk(from pair, steps func(pair) []pair) map[pair]bool {
	seen := map[pair]bool{from: true}
	for todo := []pair{from}; len(todo) > 0; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, to := range steps(at) {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

func (p *parser) next(at pair) []pair { return p.together(p.follow[at.a], p.follow[at.b]) }

func (p *parser) previous(at pair) []pair { return p.together(p.before[at.a], p.before[at.b]) }

// together are the pairs of places that one character leads to.
func (p *parser) together(a, b map[int]int) []pair {
	var out []pair
	for x := range a {
		for y := range b {
			if p.sets[x].meets(p.sets[y]) {
				out = append(out, pair{x, y})
			}
		}
	}
	return out
}

// set is a set of ASCII's characters. Others are left out: what is shown with these
// alone holds.
type set [2]uint64

func (s *set) add(c byte) {
	if c < 128 {
		s[c/64] |= 1 << (c % 64)
	}
}

func (s *set) addRange(from, to byte) {
	for c := int(from); c <= int(to); c++ {
		s.add(byte(c))
	}
}

func (s set) meets(o set) bool { return s[0]&o[0] != 0 || s[1]&o[1] != 0 }

func (s set) without() set { return set{^s[0], ^s[1]} }

func (s set) with(o set) set { return set{s[0] | o[0], s[1] | o[1]} }
