package main

import (
	"testing"
	"time"

	"whittle"
)

// TestDrainedEventsAreKeptForTheWindowOfIDs and for nobody else.
func TestDrainedEventsAreKeptForTheWindowOfIDs(t *testing.T) {
	for name, c := range map[string]struct {
		v    serveVerb
		want time.Duration
	}{
		"as the window does": {v: serveVerb{DedupEntries: 1, DedupAge: time.Hour}, want: time.Hour},
		"no ids":             {v: serveVerb{DedupAge: time.Hour}},
		"no time":            {v: serveVerb{DedupEntries: 1}},
	} {
		if keep := c.v.keepDrained(); keep != c.want {
			t.Errorf("%s: %v", name, keep)
		}
	}
}

// TestNothingIsBelowZero: a window or a drain below nothing is no way to have none.
func TestNothingIsBelowZero(t *testing.T) {
	for name, v := range map[string]serveVerb{"entries": {DedupEntries: -1}, "age": {DedupAge: -1}, "drain": {Drain: -1}} {
		if err := v.Validate(); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (&serveVerb{}).Validate(); err != nil {
		t.Error(err)
	}
}
