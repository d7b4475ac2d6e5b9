//go:build !linux

package engine

import "time"

// Timer sleeps by the runtime's timers.
type Timer struct{}

// NewTimer makes a timer, which Close releases.
func NewTimer() (*Timer, error) { return &Timer{}, nil }

func (*Timer) sleep(d time.Duration) { time.Sleep(d) }

func (*Timer) Close() {}
