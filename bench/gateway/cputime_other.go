//go:build !linux

package main

import (
	"errors"
	"time"
)

// cpuTime needs Linux, which alone gives one process the CPU clock of another.
func cpuTime(int) (time.Duration, error) {
	return 0, errors.New("bench-gateway needs Linux: no other system gives the CPU clock of another process")
}
