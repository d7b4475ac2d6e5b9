package smell

import "testing"

// Those that are exponential took more than 0.7 s in Node 20 for one of sixty repeats of 25
// pieces of text. The others took none so long, or say that they are not judged.
func TestExponential(t *testing.T) {
	for pattern, want := range map[string]bool{
		`^(a+)+$`:            true,
		`^(a*)*$`:            true,
		`^(?:a+)+$`:          true,
		`^(\w+\s?)*$`:        true,
		`^([a-z]+)*\d$`:      true,
		`^(?<w>\w+\s?)+\.$`:  true,
		`^(?:\/?[\w-]+)*\/$`: true,
		`^(\d+|\w+)*!$`:      true,
		`^((ab)*)*c`:         true,
		`^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$`: true,

		`^(a|aa)+$`:          false, // slow, but not judged: no repetition is within another
		`(x+x+)+y`:           false, // slow, but not judged: two are
		`^(a?){30}a$`:        false, // slow, but not judged: there is no loop
		`^(\w)(\1+)+$`:       false, // slow, but not judged: a back reference
		`^(?=.*\d)(a+)+$`:    false, // slow, but not judged: it looks ahead
		`^(\w+\b\s?)*$`:      false, // not judged: the boundary keeps the ways apart
		`^(\[x\]*)+$`:        false,
		`^\w+(?:\s\w+)*$`:    false,
		`^(a+b)+$`:           false,
		`^(?:\/[\w-]+)*\/?$`: false,
		`^\d{1,8}$`:          false,
		`\s+$`:               false, // the square of its length
		`(.*)=(.*)`:          false, // as well
		`^(\w+\s?)*`:         false, // it always matches
		`^(\(?:+)x?`:         false,
		`^(?:"[^"]*"|[^",]*)(?:,(?:"[^"]*"|[^",]*))*$`: false,
		`^[^@\s]+@[^@\s]+\.[^@\s]+$`:                   false,
		`([`:                                           false,
		`a{99999}`:                                     false,
		``:                                             false,
		`a**`:                                          false,
	} {
		if got := exponential(pattern); got != want {
			t.Errorf("%s: %t, want %t", pattern, got, want)
		}
	}
}
