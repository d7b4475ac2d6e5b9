package main

import "testing"

// TestMutationsHaveTheirPlaces: each mutation is of one place of the source as it is now.
func TestMutationsHaveTheirPlaces(t *testing.T) {
	for _, m := range mutations {
		if _, err := m.in("../.."); err != nil {
			t.Error(err)
		}
	}
}
