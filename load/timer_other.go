//go:build !linux

package load

import "time"

// preciseTimer sleeps by the runtime's timers.
type preciseTimer struct{}

func newPreciseTimer() (*preciseTimer, error) { return &preciseTimer{}, nil }

func (*preciseTimer) sleep(d time.Duration) { time.Sleep(d) }

func (*preciseTimer) close() {}
