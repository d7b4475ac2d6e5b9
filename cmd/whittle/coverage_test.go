package main

import (
	"strings"
	"testing"

	"whittle"
	"whittle/carve/show"
)

// TestShowCoverage: what a verdict stands on is listed one field a line, and nothing
// where a comparison has no fields.
func TestShowCoverage(t *testing.T) {
	t.Parallel()
	v := &whittle.Verdict{Coverage: &whittle.Coverage{
		ByValue: 43, AtLeast: true,
		ByForm: []whittle.FormField{
			{Path: "$.quote_id", Form: "a new UUID v4 each time"},
			{Path: "$.at", Form: "a time", Class: "time", Declared: true},
		},
		NotCompared: []whittle.Uncompared{{Path: "$.note", Reason: "ignored in the config"}},
	}}
	var b strings.Builder
	show.Findings(&b, v)
	const want = `
What was compared: at least 43 fields by value, 2 by form, 1 not compared
  $.quote_id  by form: a new UUID v4 each time
  $.at  by form: a time, declared as time
  $.note  not compared: ignored in the config
`
	if !strings.Contains(b.String(), want) {
		t.Errorf("got %q", b.String())
	}
	b.Reset()
	if show.Findings(&b, &whittle.Verdict{}); strings.Contains(b.String(), "compared") {
		t.Errorf("got %q", b.String())
	}
}
