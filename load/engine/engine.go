// Package engine runs thousands of concurrent jobs on a few threads: an event loop
// multiplexes plain TCP connections by epoll, and each job is a fiber that yields to
// its loop whenever it has to wait. So a request costs no goroutine wake-up, no timer of
// its own and no switch between threads. The package knows nothing about HTTP or plans.
// Event loops need Linux; Available says whether there are any.
package engine

import (
	"errors"
	"time"
)

// ErrAborted ends every wait of an aborted loop.
var ErrAborted = errors.New("the run was ended")

// Schedule is what a loop starts at given times. Its methods are called by the
// loop's goroutine alone.
type Schedule interface {
	// Due is when the next job starts; zero: none is left.
	Due() time.Time
	// Patience is how much later it may start, so that the loop wakes up once for it and
	// for the one behind it.
	Patience() time.Duration
	// Start starts the job that is due.
	Start()
}
