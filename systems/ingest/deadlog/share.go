package deadlog

import (
	"cmp"
	"slices"
)

// letterRef is a letter that is kept: its name, as a number, and its bytes.
type letterRef struct {
	number uint64
	bytes  int64
}

// pile is what one source has, the oldest first.
type pile struct {
	source  string
	letters []letterRef
	bytes   int64
}

func (p *pile) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(p.letters, number, func(l letterRef, n uint64) int { return cmp.Compare(l.number, n) })
}

// shares decides which letters are kept within a bound: where all take more, the
// oldest letter of the source that has most goes. So a source that has no more
// than its fair share loses none, however much the others send. The zero bound
// keeps all.
type shares struct {
	most  int64
	bytes int64
	piles []*pile
	of    map[string]*pile
}

func newShares(most int64) *shares { return &shares{most: most, of: map[string]*pile{}} }

// add counts a letter, and takes out what is too much by it. One that is there
// is not counted twice.
func (s *shares) add(source string, number uint64, bytes int64) {
	p := s.of[source]
	if p == nil {
		p = &pile{source: source}
		s.of[source], s.piles = p, append(s.piles, p)
	}
	i, found := p.find(number)
	if found {
		return
	}
	p.letters = slices.Insert(p.letters, i, letterRef{number, bytes})
	p.bytes, s.bytes = p.bytes+bytes, s.bytes+bytes
	for s.most > 0 && s.bytes > s.most {
		largest := s.piles[0]
		for _, p := range s.piles[1:] {
			if p.bytes > largest.bytes {
				largest = p
			}
		}
		s.take(largest, 0)
	}
}

// has reports whether a letter is to be kept.
func (s *shares) has(source string, number uint64) bool {
	p := s.of[source]
	if p == nil {
		return false
	}
	_, found := p.find(number)
	return found
}

// remove takes a letter out that nobody needs any more.
func (s *shares) remove(source string, number uint64) {
	if p := s.of[source]; p != nil {
		if i, found := p.find(number); found {
			s.take(p, i)
		}
	}
}

// take takes a pile's i-th letter out, and the pile when it is empty.
func (s *shares) take(p *pile, i int) {
	n := p.letters[i].bytes
	p.bytes, s.bytes = p.bytes-n, s.bytes-n
	if i == 0 {
		p.letters = p.letters[1:] // append makes room again
	} else {
		p.letters = slices.Delete(p.letters, i, i+1)
	}
	if len(p.letters) == 0 {
		delete(s.of, p.source)
		s.piles = slices.DeleteFunc(s.piles, func(other *pile) bool { return other == p })
	}
}
