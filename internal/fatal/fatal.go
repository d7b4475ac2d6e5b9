// Package fatal ends a test at an error that it cannot go on after.
package fatal

import "testing"

// If ends the test where there is an error, which it logs at its caller's line.
func If(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
