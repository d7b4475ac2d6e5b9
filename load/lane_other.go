//go:build !linux

package load

import (
	"context"
	"time"
)

// Lanes wait by epoll, so elsewhere every user has a goroutine.
type (
	lane  struct{ connector }
	fiber struct{ lane *lane }
	sock  struct{ stream }
)

func newLanes(*session) ([]*lane, error) { return nil, nil }

func (*lane) host(*worker, func())                         {}
func (*lane) follow(func())                                {}
func (*lane) post(func())                                  {}
func (*lane) run(context.Context)                          {}
func (*lane) halt()                                        {}
func (*lane) end()                                         {}
func (*lane) finish()                                      {}
func (*fiber) away(func())                                 {}
func (*sock) closedByPeer() bool                           { return true }
func (*fiber) sleep(context.Context, time.Time, bool) bool { return false }
