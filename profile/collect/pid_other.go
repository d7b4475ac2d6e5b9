//go:build !linux

package collect

import (
	"context"
	"syscall"
	"time"

	"whittle"
	"whittle/profile"
)

func openPID(_ context.Context, pid int, _ bool) (Source, error) {
	return nil, whittle.Errorf(whittle.Unsupported, "profile process %d: by its id on Linux only", pid).
		WithHint("start it with --inspect, and give http://127.0.0.1:9229")
}

// Locate finds what to profile of the processes that listen at a URL.
func Locate(_ context.Context, at string) ([]string, error) {
	return nil, whittle.Errorf(whittle.Unsupported, "find the process at %s: on Linux only", at).
		WithHint("give the URL of its pprof or inspector as TARGET")
}

// Workers are the workers of a Node cluster.
func Workers(int) []int { return nil }

// ended reports whether a process has.
func ended(int) bool { return false }

// isStopped reports whether a process is.
func isStopped(int) bool { return false }

// threadClock reads a thread's CPU clock: on Linux only.
type threadClock struct{}

func readThread(context.Context, int, int, time.Duration) *threadClock { return nil }

func (*threadClock) stop() []profile.ClockReading { return nil }

// linger keeps connections open after a kill: on Linux only.
type linger struct{}

func keepOpen(...syscall.Conn) *linger { return nil }

func (*linger) end() {}
