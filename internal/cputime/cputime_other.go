//go:build !linux

// Package cputime reads another process's CPU clock, for benchmarks.
package cputime

import (
	"errors"
	"time"
)

// Of needs Linux, which alone gives one process the CPU clock of another.
func Of(int) (time.Duration, error) {
	return 0, errors.New("benchmarks need Linux: no other system gives the CPU clock of another process")
}
