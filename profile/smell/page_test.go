package smell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"whittle/internal/simtest"
	"whittle/internal/units"
	"whittle/profile"
)

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
