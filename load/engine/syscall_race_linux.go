//go:build race

package engine

import "syscall"

// The standard library's calls, which the race detector knows: what a target in
// the same process did before it responded happens before the read returns.
func readNow(fd int, b []byte) (int, error)  { return syscall.Read(fd, b) }
func writeNow(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }
