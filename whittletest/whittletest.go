// Package whittletest holds errors to the codes that whittle gives them.
package whittletest

import (
	"fmt"
	"testing"

	"whittle"
	"whittle/internal/fatal"
)

// Refused marks the test as failed, and lets it go on, if err has another code or lacks one of the
// words. what names the case.
func Refused(t testing.TB, err error, code whittle.Code, what string, words ...string) {
	t.Helper()
	if err == nil || whittle.CodeOf(err) != code {
		t.Errorf("%s: %v, want %v", what, err, code)
	}
	fatal.Has(t, fmt.Sprint(err), words...)
}
