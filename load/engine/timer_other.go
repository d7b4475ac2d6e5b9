//go:build !linux

package engine

import "time"

// Timer sleeps by the runtime's timers.
type Timer struct{}

func NewTimer() (*Timer, error) { return &Timer{}, nil }

func (*Timer) sleep(d time.Duration) { time.Sleep(d) }

func (*Timer) Close() {}
