//go:build !unix

package relay

import "os"

// lock does nothing where there is no advisory lock: there the log's own lock
// must keep a second process away.
func lock(*os.File) error { return nil }
