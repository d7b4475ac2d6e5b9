package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPlansAreSentAsByTheirTools runs every plan of the corpus and holds what is sent to
// what its own tool sent. None runs and sends something else.
func TestPlansAreSentAsByTheirTools(t *testing.T) {
	t.Parallel()
	cases, err := readCases(".")
	if err != nil {
		t.Fatal(err)
	}
	outcomes := judgeAll(t.Context(), cases)
	for i, o := range outcomes {
		switch {
		case o.Verdict == wrong:
			t.Errorf("%s: %s", o.Plan, o.Why)
		case o.Verdict == refused && cases[i].about.refused == "":
			t.Errorf("%s is refused, and says nothing of it: %s", o.Plan, o.Why)
		}
	}
	docs, err := os.ReadFile("../../docs/load.md")
	if err != nil {
		t.Fatal(err)
	}
	r := tally(cases, outcomes, "artillery")
	if says := fmt.Sprintf("Of %d plans %d are sent the same, %d the same with a note, and %d are refused.", r.Plans, r.Same, r.Noted, r.Refused); !strings.Contains(string(docs), says) {
		t.Errorf("docs/load.md does not say: %s", says)
	}
	j := tally(cases, outcomes, jmeterTool)
	docs, err = os.ReadFile("../../docs/load-jmeter.md")
	for _, says := range []string{
		fmt.Sprintf("%d plans in `bench/loadcorpus/jmeter`", j.Plans+j.OtherEngines),
		fmt.Sprintf("%d are sent the same, %d the same with a note in the report, %d are refused, and none is sent otherwise", j.Same, j.Noted, j.Refused),
	} {
		if err != nil || !strings.Contains(string(docs), says) {
			t.Errorf("docs/load-jmeter.md does not say: %s (%v)", says, err)
		}
	}
	if r := tally(cases, outcomes, ""); r.Refused*100 > r.Plans*maxRefused {
		t.Errorf("%d of %d plans are refused; at most %d %% may be", r.Refused, r.Plans, maxRefused)
	}
}
