//go:build unix

package openfiles

import "golang.org/x/sys/unix"

// Limit is how many files the process may have open; 0: there is no bound, or it is
// not known. (Go has raised the soft limit to the hard one.)
func Limit() uint64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &r) != nil || r.Cur == unix.RLIM_INFINITY {
		return 0
	}
	return r.Cur
}
