//go:build !linux

package load

import (
	"context"
	"time"
)

// Event loops wait by epoll, so elsewhere every user has a goroutine.
type (
	eventLoop struct{ connector }
	fiber     struct{ loop *eventLoop }
	socket    struct{ stream }
)

func newEventLoops(*session) ([]*eventLoop, error) { return nil, nil }

func (*eventLoop) postUser(*worker, func())                     {}
func (*eventLoop) takeArrivals(func())                          {}
func (*eventLoop) post(func())                                  {}
func (*eventLoop) run(context.Context)                          {}
func (*eventLoop) halt()                                        {}
func (*eventLoop) abort()                                       {}
func (*eventLoop) finish()                                      {}
func (*fiber) runBlocking(func())                               {}
func (*socket) closedByPeer() bool                              { return true }
func (*fiber) sleepUntil(context.Context, time.Time, bool) bool { return false }
