package main

import (
	"maps"
	"testing"
	"time"
)

// A profile of a part of the time had a part of its requests.
func TestPortion(t *testing.T) {
	all := map[string]int64{"POST /Count": 100, "GET /": 3}
	for _, c := range []struct {
		part time.Duration
		want map[string]int64
	}{
		{9 * time.Second, map[string]int64{"POST /Count": 90, "GET /": 3}},
		{5 * time.Second, map[string]int64{"POST /Count": 50, "GET /": 2}},
		{10 * time.Second, all},
		{11 * time.Second, all},
		{0, all},
	} {
		if got := portion(all, c.part, 10*time.Second); !maps.Equal(got, c.want) {
			t.Errorf("%s of 10 s: %v, want %v", c.part, got, c.want)
		}
	}
}
