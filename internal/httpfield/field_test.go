package httpfield

import "testing"

// TestIsSafe: the methods that are copied and repeated, written as HTTP has them, and no others.
func TestIsSafe(t *testing.T) {
	for method, want := range map[string]bool{
		"GET": true, "HEAD": true, "OPTIONS": true,
		"POST": false, "PUT": false, "PATCH": false, "DELETE": false, "TRACE": false, "CONNECT": false, "get": false, "": false, "*": false,
	} {
		if IsSafe(method) != want {
			t.Errorf("%q: %t", method, !want)
		}
	}
}
