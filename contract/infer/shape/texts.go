package shape

import "whittle/contract/infer/pattern"

const (
	maxWords  = 32 // that are counted
	mostWords = 16 // that a set has which is listed
)

// format is what a string may hold: a number, a time and so on.
type format uint8

const (
	formatTime format = iota
	formatDate
	formatUUID
	formatInteger
	formatDecimal
	formatEmail
	formatURL
	formatRedacted
	formats
)

var formatNames = [formats]string{
	"an RFC 3339 time", "a date (yyyy-mm-dd)", "a UUID", "an integer as text", "a decimal as text", "an e-mail address", "a URL", "redacted",
}

var formatTests = [formats]func(string) bool{
	pattern.IsTime, pattern.IsDate, pattern.IsUUID, pattern.IsInteger, pattern.IsDecimal, pattern.IsEmail, pattern.IsURL, pattern.IsRedacted,
}

// Texts is what was seen of the strings at one place. It keeps no string but a
// few short words.
type Texts struct {
	N int
	// is counts those of each format. A format that a string does not have is
	// not tried again.
	is               [formats]int
	Shortest, Longer int
	// words counts the distinct short words; nil, and many, when there were too
	// many or one was no word.
	Words map[string]int
	Many  bool
}

// See takes one string.
func (s *Texts) See(t string) {
	for f := range s.is {
		if s.is[f] == s.N && formatTests[f](t) {
			s.is[f]++
		}
	}
	if s.N == 0 || len(t) < s.Shortest {
		s.Shortest = len(t)
	}
	s.Longer = max(s.Longer, len(t))
	s.N++
	s.word(t, 1)
}

func (s *Texts) word(t string, n int) {
	if s.Many {
		return
	}
	if s.Words == nil {
		s.Words = map[string]int{}
	}
	if _, known := s.Words[t]; !known && (!pattern.IsWord(t) || len(s.Words) == maxWords) {
		s.Words, s.Many = nil, true
		return
	}
	s.Words[t] += n
}

// Absorb takes all that o has seen.
func (s *Texts) Absorb(o *Texts) {
	if o.N == 0 {
		return
	}
	for f := range s.is {
		if s.is[f] == s.N && o.is[f] == o.N {
			s.is[f] += o.is[f]
		}
	}
	if s.N == 0 || o.Shortest < s.Shortest {
		s.Shortest = o.Shortest
	}
	s.Longer = max(s.Longer, o.Longer)
	s.N += o.N
	if o.Many {
		s.Words, s.Many = nil, true
	}
	for w, n := range o.Words {
		s.word(w, n)
	}
}

// format is the one that all of them have, formats where there is none.
func (s *Texts) format() format {
	for f := range s.is {
		if s.N > 0 && s.is[f] == s.N {
			return format(f)
		}
	}
	return formats
}

// once counts the words that were seen a single time.
func (s *Texts) once() int {
	n := 0
	for _, c := range s.Words {
		if c == 1 {
			n++
		}
	}
	return n
}
