//go:build !linux

package engine

import (
	"context"
	"errors"
	"io"
	"time"
)

// Available says whether this system has event loops. They wait by epoll, so
// elsewhere there are none, and the types below are never made.
const Available = false

type (
	Loop      struct{}
	Fiber     struct{}
	Socket    struct{ io.ReadWriteCloser }
	Semaphore struct{}
)

// New fails: there are no event loops here.
func New(func() time.Time) (*Loop, error) {
	return nil, errors.New("event loops need Linux's epoll")
}

func (*Loop) Close()                        {}
func (*Loop) Run()                          {}
func (*Loop) Finish()                       {}
func (*Loop) Halt()                         {}
func (*Loop) Abort()                        {}
func (*Loop) Post(func())                   {}
func (*Loop) Spawn(func(*Fiber))            {}
func (*Loop) Follow(Schedule, func())       {}
func (*Loop) NewSemaphore(int) *Semaphore   { return nil }
func (*Fiber) RunBlocking(func())           {}
func (*Socket) ClosedByPeer() bool          { return true }
func (*Socket) SetDeadline(time.Time) error { return nil }
func (*Semaphore) Acquire(time.Time) error  { return ErrAborted }
func (*Semaphore) Release()                 {}

func (*Loop) Dial(context.Context, string, time.Time) (*Socket, error) { return nil, ErrAborted }
func (*Fiber) SleepUntil(context.Context, time.Time, bool) bool        { return false }
