package smell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
	"whittle/internal/simtest"
	"whittle/internal/units"
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
	fatal.Same(t, names, want, "kept")
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
		fatal.Same(t, exponential(pattern), want, "%s", pattern)
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

const (
	smellsDoc    = "../../docs/smells.md"
	smellsStart  = "<!-- smells: go test ./profile/smell -run TestPageOfSmells -update -->\n"
	smellsFinish = "<!-- end of smells -->\n"
)

// TestPageOfSmells makes the list of docs/smells.md from the rules.
func TestPageOfSmells(t *testing.T) {
	type row struct{ name, runtime, from, title, advice string }
	rows := []row{
		{
			"gc-pressure", "both", units.Percent(collectorShare) + " for allocating and collecting; in Go also " + units.Percent(allocationShare) + " of all bytes at one own line",
			"memory is allocated and discarded faster than the work needs", "reuse buffers, make slices with their capacity, keep values off the heap",
		},
		{
			"lock-contention", "Go, by its mutex profile", fmt.Sprintf("%v goroutines waiting at any moment", leastWaiting),
			"goroutines wait for one lock", "hold it shorter, split what it guards, or give each worker its own",
		},
		{
			"event-loop-blocked", "Node", fmt.Sprintf("3 stretches of %v, or one of 500ms", profile.BlockedFor),
			"one call blocks the event loop for everybody",
			"carve it into a service of its own, or do it in slices with setImmediate between them",
		},
	}
	for runtime, rules := range map[string][]rule{"Go": goRules, "Node": nodeRules} {
		for _, r := range rules {
			rows = append(rows, row{r.name, runtime, units.Percent(r.least), r.title, r.advice})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.runtime, b.runtime), cmp.Compare(a.title, b.title))
	})
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "- `%s` (%s, %s): %s. %s\n", r.name, r.runtime, r.from, r.title, strings.ToUpper(r.advice[:1])+strings.ReplaceAll(r.advice[1:], "*", `\*`))
	}
	simtest.InDoc(t, smellsDoc, smellsStart, smellsFinish, b.String())
}
