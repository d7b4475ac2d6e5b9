package shape

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whittle/contract"
	"whittle/contract/infer/pattern"
	"whittle/internal/units"
)

const (
	maxWords  = 32 // that are counted
	mostWords = 16 // that a set has which is listed
)

// Texts is what was seen of the strings at one place. It keeps no string but a
// few short words.
type Texts struct {
	N                int
	Shortest, Longer int
	// Words counts the distinct short words. Once there were too many, or one text was no
	// word, it is nil, and Many is set.
	Words map[string]int
	Many  bool
}

// See takes one string.
func (s *Texts) See(t string) {
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

// Says lists what is worth a comment, without full stops.
func (s *Numbers) Says() []string {
	var out []string
	switch {
	case s.fractions == 0 && s.wide == 0 && s.Ints > 0:
		high := strconv.FormatUint(s.high, 10)
		if s.high == 0 && s.Negative {
			high = strconv.FormatFloat(s.max, 'f', -1, 64)
		}
		low := strconv.FormatInt(s.low, 10)
		if s.low == 1<<63-1 {
			low = high
		}
		out = append(out, "Seen from "+low+" to "+high)
	default:
		out = append(out, fmt.Sprintf("Seen from %s to %s, with at most %s after the point", decimal(s.min), decimal(s.max), contract.Count(s.Places, "digit")))
	}
	if s.Epochs == s.N && s.fractions == 0 {
		out = append(out, "Looks like a Unix time")
	}
	if s.high > exactly || s.Negative && s.low < -exactly {
		out = append(out, "Beyond 2^53, where a client that reads doubles loses digits")
	}
	return out
}

// Says lists what is worth a comment, without full stops.
func (s *Texts) Says() []string {
	switch {
	case s.FewWords() && len(s.Words) == 1:
		return []string{"Always " + slices.Collect(maps.Keys(s.Words))[0] + " in " + units.Grouped(s.N) + " cases"}
	case s.FewWords():
		return []string{"One of " + strings.Join(slices.Sorted(maps.Keys(s.Words)), ", ") + " in " + units.Grouped(s.N) + " cases"}
	}
	return nil
}

// Lengths says how long the strings are.
func (s *Texts) Lengths() string {
	if s.Shortest == s.Longer {
		return contract.Count(s.Longer, "byte")
	}
	return fmt.Sprintf("%d to %s", s.Shortest, contract.Count(s.Longer, "byte"))
}

// decimal writes a number with no more digits than distinguish it.
func decimal(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// FewWords says that the strings look like a set of words: at least 20 of them,
// each word seen five times in the mean, none only once.
func (s *Texts) FewWords() bool {
	return !s.Many && s.N >= 20 && len(s.Words) > 0 && len(s.Words) <= mostWords && s.N >= 5*len(s.Words) && s.once() == 0
}
