//go:build !linux

package socket

import "syscall"

// Unsent cannot be said here.
func Unsent(syscall.Conn) int { return 0 }
