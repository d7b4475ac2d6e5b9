//go:build !unix

package upstream

// nothingToRead cannot tell here; a connection that turns out to be closed is
// found by the request, and an idempotent one is sent again.
func nothingToRead(uintptr) bool { return true }
