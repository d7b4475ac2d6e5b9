package smell

import (
	"regexp"
	"regexp/syntax"
	"slices"
)

// maxPattern bounds the length of a regular expression that is judged.
const maxPattern = 2000

// openGroup is a group without a capture, or an escaped character.
var openGroup = regexp.MustCompile(`\\.|\(\?:`)

// exponential reports whether an expression of JavaScript's, without its slashes and flags,
// has a repetition of little more than a repetition, after which a match may fail: a text
// that the inner one repeats is then read in two ways, and each repetition of it doubles
// them. False: it has none, or that is not known, as with look-around and back references,
// which Go's syntax does not have.
func exponential(pattern string) bool {
	if len(pattern) > maxPattern {
		return false
	}
	captured := openGroup.ReplaceAllStringFunc(pattern, func(s string) string { // Go's parser joins (?:a+)+ to a+
		if s == "(?:" {
			return "("
		}
		return s
	})
	whole, err := syntax.Parse(captured, syntax.Perl)
	return err == nil && doubles(whole, false)
}

// doubles looks for the repetition; needed says that something has to match behind it.
func doubles(re *syntax.Regexp, needed bool) bool {
	if needed && isLoop(re) && repeatsOne(re.Sub[0]) {
		return true
	}
	for i, sub := range re.Sub {
		behind := re.Op == syntax.OpConcat && slices.ContainsFunc(re.Sub[i+1:], func(s *syntax.Regexp) bool { return !canBeEmpty(s) })
		if doubles(sub, needed || behind) {
			return true
		}
	}
	return false
}

func isLoop(re *syntax.Regexp) bool {
	return re.Op == syntax.OpStar || re.Op == syntax.OpPlus || re.Op == syntax.OpRepeat && re.Max == -1
}

// repeatsOne reports whether a body can be one repetition and nothing else.
func repeatsOne(body *syntax.Regexp) bool {
	switch body.Op {
	case syntax.OpCapture:
		return repeatsOne(body.Sub[0])
	case syntax.OpAlternate:
		return slices.ContainsFunc(body.Sub, repeatsOne)
	case syntax.OpConcat:
		for i, sub := range body.Sub {
			rest := slices.Concat(body.Sub[:i], body.Sub[i+1:])
			if repeatsOne(sub) && !slices.ContainsFunc(rest, func(s *syntax.Regexp) bool { return !canBeEmpty(s) }) {
				return true
			}
		}
	}
	return isLoop(body) && reads(body.Sub[0])
}

// reads reports whether all that an expression asks for is characters: of assertions it is
// not known where they hold.
func reads(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpCapture, syntax.OpConcat, syntax.OpAlternate, syntax.OpPlus, syntax.OpStar, syntax.OpQuest, syntax.OpRepeat:
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !reads(s) })
	}
	return false
}

func canBeEmpty(re *syntax.Regexp) bool {
	all := func() bool {
		return !slices.ContainsFunc(re.Sub, func(s *syntax.Regexp) bool { return !canBeEmpty(s) })
	}
	switch re.Op {
	case syntax.OpEmptyMatch, syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return re.Min == 0 || all()
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, canBeEmpty)
	case syntax.OpCapture, syntax.OpConcat, syntax.OpPlus:
		return all()
	}
	return false
}
