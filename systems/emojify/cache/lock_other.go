//go:build !unix

package cache

import "os"

// lock does nothing where there is no advisory lock: there the operator gives
// each cache a folder of its own.
func lock(*os.File) error { return nil }
