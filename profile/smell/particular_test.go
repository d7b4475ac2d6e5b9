package smell

import (
	"slices"
	"strings"
	"testing"

	"whittle/profile"
)

// One mistake at one line is one finding, with all that was seen of it.
func TestTheParticularSmellIsKept(t *testing.T) {
	at := func(name, file string, line int) Smell {
		return Smell{Name: name, File: file, Line: line, Evidence: "seen of " + name}
	}
	all := []Smell{
		at("gc-pressure", "a.go", 7), at("printing", "a.go", 7), at("printed-message", "a.go", 7),
		at("gc-pressure", "a.go", 9), at("printing", "b.go", 7), at("formatting", "b.go", 7),
		at("sync-crypto", "c.js", 3), at("event-loop-blocked", "c.js", 3), at("sync-call", "c.js", 3),
		at("connection-churn", "", 0), at("lock-contention", "", 0),
	}
	var names []string
	for _, s := range particular(all) {
		names = append(names, s.Name)
		if s.Name == "printed-message" && (!strings.Contains(s.Evidence, "seen of gc-pressure") || !strings.Contains(s.Evidence, "seen of printing")) {
			t.Errorf("evidence %q", s.Evidence)
		}
	}
	want := []string{"printed-message", "gc-pressure", "printing", "sync-crypto", "event-loop-blocked", "sync-call", "connection-churn", "lock-contention"}
	if !slices.Equal(names, want) {
		t.Errorf("kept %q, want %q", names, want)
	}
}

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

// What Go's collector does on processors that nothing else wants is no pressure: it
// takes time from nobody. The same work of a dedicated worker is.
func TestIdleMarkingIsNoPressure(t *testing.T) {
	const idle, dedicated, own = 0, 1, 2
	p := &profile.Profile{Kind: profile.CPU, Runtime: profile.Go, Functions: []profile.Function{
		{Name: "runtime.gcDrainMarkWorkerIdle", Category: profile.Collecting},
		{Name: "runtime.gcDrainMarkWorkerDedicated", Category: profile.Collecting},
		{Name: "shop.handle", Owner: profile.Own},
	}}
	add := func(function int32, times int) {
		for range times {
			p.Samples = append(p.Samples, profile.Sample{Stack: []profile.Frame{{Function: function}}, Value: 1})
		}
	}
	add(own, 50)
	add(idle, 200)
	if found := collector(p, nil); len(found) > 0 {
		t.Errorf("idle marking was named: %+v", found)
	}
	add(dedicated, 60) // more than half of it, which so few samples do not show
	if found := collector(p, nil); len(found) > 0 {
		t.Errorf("what may be chance was named: %+v", found)
	}
	add(dedicated, 90)
	found := collector(p, nil)
	if len(found) != 1 || found[0].Share != 0.75 {
		t.Errorf("half of the work is the collector's, but %+v was named", found)
	}
}
