//go:build !unix

package upstream

// nothingToRead always reports true on this system. A closed connection shows when
// the request fails; an idempotent request is then sent again.
func nothingToRead(uintptr) bool { return true }
