package main

import (
	"fmt"
	"slices"
	"strings"

	"whittle"
)

// flaw is what is wrong with a service of the demo, with the finding that is its
// own: another flaw's finding, or one that names no cause, does not count for it.
type flaw struct {
	name  string
	named func(*whittle.Finding) bool
}

// publishedFlaws are those of the count service as it was published.
var publishedFlaws = []flaw{
	{"another distribution (0..99 for 0..100)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundMean
	}},
	{"a dropped remainder (jobs of 100,000)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundWrongValue && strings.Contains(f.Cause, "remainder was dropped")
	}},
	{"a wrapped total (32 bits)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundWrongValue && strings.Contains(f.Cause, "32-bit total wrapped")
	}},
	{"a shared seed (the Unix second)", func(f *whittle.Finding) bool {
		return f.Kind == whittle.FoundRepeats // its second is a guess that a slow machine blurs
	}},
}

// namedFlaws says which published flaw was named by which kind of finding.
func namedFlaws(v *whittle.Verdict) map[string]string {
	named := map[string]string{}
	for _, w := range publishedFlaws {
		for i := range slices.Backward(v.Findings) { // the first that is shown counts
			if f := &v.Findings[i]; f.Decided && f.Expected == "" && w.named(f) {
				named[w.name] = string(f.Kind)
			}
		}
	}
	return named
}

// killed holds a rollback's reason to what a dead service shows: requests that
// fail, and not some difference.
func killed(reason string) error {
	what, _, _ := strings.Cut(reason, ":")
	failure := strings.HasPrefix(what, "The verdict is DIFFERENT after ") && strings.Contains(reason, ": "+string(whittle.FoundFailure)+" proven;")
	if failure || strings.HasSuffix(what, "breaker tripped") || strings.HasPrefix(what, "The errors guard") {
		return nil
	}
	return fmt.Errorf("it was killed, and rolled back for another reason: %s", reason)
}
