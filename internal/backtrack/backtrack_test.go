package backtrack

import (
	"strings"
	"testing"
	"time"
)

// Each was tried in Node 20 with sixty repeats of 25 pieces of text, before and behind
// which others were put: those that are exponential took more than 0.7 s for one of them.
// The others took none so long, but for the two that say so.
func TestExponential(t *testing.T) {
	for pattern, want := range map[string]bool{
		`^(a+)+$`:                     true,
		`^(a*)*$`:                     true,
		`^(?:a+)+$`:                   true,
		`^(a|a)*$`:                    true,
		`^(a|aa)+$`:                   true,
		`^(\w+\s?)*$`:                 true,
		`^([a-z]+)*\d$`:               true,
		`(x+x+)+y`:                    true,
		`^(([a-z])+.)+[A-Z]([a-z])+$`: true,
		`^([a-zA-Z0-9])(([\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$`: true,
		`^(?<word>\w+\s?)+\.$`: true,
		`^(?:\/?[\w-]+)*\/$`:   true,
		`^(\d+|\w+)*!$`:        true,
		`^((ab)*)*c`:           true,
		`^(a{1,3}){2,}$`:       true,
		`^(\[x\]*)+$`:          false,
		`^(a?){30}a$`:          false, // slow, but not judged: there is no loop

		`^\w+(?:\s\w+)*$`:    false,
		`^(a+b)+$`:           false,
		`^(?:\/[\w-]+)*\/?$`: false,
		`^\d{1,8}$`:          false,
		`\s+$`:               false, // the square of its length
		`(.*)=(.*)`:          false, // as well
		`^(\w+\s?)*`:         false, // it always matches
		`(a|a)*`:             false,
		`^(?:"[^"]*"|[^",]*)(?:,(?:"[^"]*"|[^",]*))*$`: false,
		`^[^@\s]+@[^@\s]+\.[^@\s]+$`:                   false,
		`^(?=.*\d)(a+)+$`:                              false, // not judged
		`^(\w+\b\s?)*$`:                                false, // not judged: the boundary keeps the ways apart
		`^(\w)(\1+)+$`:                                 false, // slow, but not judged: a back reference
		`([`:                                           false,
		`(((`:                                          false,
		`a{99999}`:                                     false,
		``:                                             false,
		`[`:                                            false,
		`\`:                                            false,
		`(?`:                                           false,
		`a**`:                                          false,
	} {
		if got := Exponential(pattern); got != want {
			t.Errorf("%s: %t, want %t", pattern, got, want)
		}
	}
}

// What holds no character reaches no bound of them however often it is repeated: eight
// groups in each other, 120 times each, were read 120 to the eighth times.
func TestEmptyGroupsAreNotReadAgainAndAgain(t *testing.T) {
	empty := strings.Repeat("(", 8) + strings.Repeat("){120}", 8)
	judged := make(chan bool, 1)
	go func() { judged <- Exponential("^" + empty + "(a+)+$") }()
	select {
	case exponential := <-judged:
		if !exponential {
			t.Error("a loop behind empty groups is not seen")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("not judged in ten seconds")
	}
}

// No text makes it fail.
func FuzzExponential(f *testing.F) {
	f.Add(`^(\w+\s?)*$`)
	f.Add(`a{3,}|[^\]x-z]+?`)
	f.Fuzz(func(_ *testing.T, pattern string) { Exponential(pattern) })
}
