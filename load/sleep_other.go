//go:build !linux

package load

import "time"

// napper sleeps by the runtime's timers.
type napper struct{}

func newNapper() (*napper, error) { return &napper{}, nil }

func (*napper) nap(d time.Duration) { time.Sleep(d) }

func (*napper) close() {}
