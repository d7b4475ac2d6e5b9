package shape

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"whittle/internal/units"
)

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
		out = append(out, fmt.Sprintf("Seen from %.17g to %.17g, with at most %d digits after the point", s.min, s.max, s.Places))
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
	switch f := s.format(); {
	case f == formatRedacted:
		return []string{"It was redacted when it was recorded"}
	case f < formats && (s.N > 1 || f < formatInteger):
		return []string{"In all " + units.Grouped(s.N) + " cases " + formatNames[f]}
	case s.FewWords() && len(s.Words) == 1:
		return []string{"Always " + slices.Collect(maps.Keys(s.Words))[0] + " in " + units.Grouped(s.N) + " cases"}
	case s.FewWords():
		return []string{"One of " + strings.Join(slices.Sorted(maps.Keys(s.Words)), ", ") + " in " + units.Grouped(s.N) + " cases"}
	}
	return nil
}

// FewWords says that the strings look like a set of words: at least 20 of them,
// each word seen five times in the mean, none only once.
func (s *Texts) FewWords() bool {
	return !s.Many && s.N >= 20 && len(s.Words) > 0 && len(s.Words) <= mostWords && s.N >= 5*len(s.Words) && s.once() == 0
}
