package infer

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle/contract"
)

const (
	// enoughObjects is the number of different objects in which a set of words
	// must have occurred before it is taken for complete. None of the words
	// occurred only once, so less than 3 in enoughObjects, 1 %, of further ones
	// should be new (Good and Turing: their share is that of the words seen
	// once, whose number is at most 3 at 95 % where it was 0).
	enoughObjects = 300
	// oftenObjects is the number in which each word must have occurred.
	oftenObjects = 10
	// mostWords bounds a set of words that is taken for an enum; one that is an
	// enum already may grow to maxWords.
	mostWords = 16
)

// doubt returns why a place's strings are not a complete set of words; empty:
// they are.
func (s *texts) doubt(key string) string {
	all, rarest, fewest := s.objects.all()
	switch f := s.format(); {
	case s.many || s.n == 0 || f < formats:
		return "they are no words"
	case len(s.words) == 1:
		return "it may be a constant"
	case len(s.words) > mostWords:
		return fmt.Sprintf("there are more than %d", mostWords)
	case isOpen(key):
		return fmt.Sprintf("what is called %q has no end of values", key)
	}
	if why := oddWords(slices.Sorted(maps.Keys(s.words))); why != "" {
		return why
	}
	switch {
	case fewest < oftenObjects:
		return fmt.Sprintf("%s was in %s, and %d are asked for", rarest, contract.Count(fewest, "different object"), oftenObjects)
	case all < enoughObjects:
		return fmt.Sprintf("they were in %s, and %d are asked for", contract.Count(all, "different object"), enoughObjects)
	}
	return ""
}

// oddWords says why some words are no set of names for kinds of things.
func oddWords(words []string) string {
	first, stems, switches := words[0], map[string]bool{}, true
	for _, w := range words {
		lower := strings.ToLower(w)
		switch lower {
		case "null", "nil", "undefined", "nan":
			return "one of them stands for nothing"
		case "true", "false", "yes", "no", "on", "off", "y", "n", "t", "f":
		default:
			switches = false
		}
		digits := 0
		stem := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				digits++
				return -1
			}
			return r
		}, lower)
		if digits > 2 {
			return "one of them looks like an id"
		}
		stems[stem] = true
		if (w[0] <= 'Z') != (first[0] <= 'Z') {
			return "some of them are names, with a capital"
		}
	}
	switch {
	case switches:
		return "they are true and false in other words"
	case len(stems) < len(words):
		return "they are numbered, or differ in case alone"
	}
	return ""
}

// isOpen reports whether a name is that of an open set, of which traffic shows
// only a part.
func isOpen(name string) bool {
	n := contract.FieldName(contract.Singular(name))
	return openNames[n[strings.LastIndexByte(n, '_')+1:]]
}

var openNames = setOf(strings.Fields(`
	id uuid guid key name title text label slug code token secret password hash digest signature version
	user username login email mail owner author creator customer client member person contact recipient sender account tenant company team group
	city town street address region country currency language lang locale timezone zone tz
	path url uri link href file filename host hostname domain ip
	q query search term keyword word tag topic category comment note message description summary content body value
	product item sku brand model vendor supplier shop store campaign coupon voucher`))

// evidence says why the set of words is taken for complete.
func (e *enum) evidence(s *texts) string {
	all, rarest, fewest := s.objects.all()
	if e.before != "" {
		if fresh := len(e.made.fresh); fresh > 0 {
			return fmt.Sprintf("it was one, and has %s now: %s", contract.Count(fresh, "new word"), strings.Join(e.made.fresh, ", "))
		}
		return "it was one, and every word was known"
	}
	return fmt.Sprintf("in at least %d different objects, the rarest, %s, in %d; none in only one, so less than %s of further ones should have another word (Good and Turing; 3/n), which the monolith then returns",
		all, rarest, fewest, contract.Percent(3/float64(all)))
}
