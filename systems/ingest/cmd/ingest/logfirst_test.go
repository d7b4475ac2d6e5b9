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
		code whittle.Code
	}{
		"as the window does": {v: serveVerb{DedupEntries: 1, DedupAge: time.Hour}, want: time.Hour},
		"no ids":             {v: serveVerb{DedupAge: time.Hour}},
		"no time":            {v: serveVerb{DedupEntries: 1}},
		"below zero":         {v: serveVerb{DedupEntries: 1, DedupAge: -1}, code: whittle.Invalid},
	} {
		keep, err := c.v.keepDrained()
		if keep != c.want || (err != nil) != (c.code != 0) || err != nil && whittle.CodeOf(err) != c.code {
			t.Errorf("%s: %v, %v", name, keep, err)
		}
	}
}
