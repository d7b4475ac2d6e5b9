package httpfield

import (
	"testing"

	"whittle/internal/fatal"
)

// TestIsSafe: the methods that are copied and repeated, written as HTTP has them, and no others.
func TestIsSafe(t *testing.T) {
	for method, want := range map[string]bool{
		"GET": true, "HEAD": true, "OPTIONS": true,
		"POST": false, "PUT": false, "PATCH": false, "DELETE": false, "TRACE": false, "CONNECT": false, "get": false, "": false, "*": false,
	} {
		fatal.Same(t, IsSafe(method), want, "%q", method)
	}
}
