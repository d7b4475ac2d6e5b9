//go:build unix

package accesslog

import (
	"os"
	"os/signal"
	"syscall"
)

// Rotations has c get each request to open log files again: SIGUSR1, and SIGHUP.
func Rotations(c chan<- os.Signal) { signal.Notify(c, syscall.SIGUSR1, syscall.SIGHUP) }
