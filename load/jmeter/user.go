package jmeter

import (
	"sync/atomic"
	"time"

	"whittle/load/expr"
)

// own gives what one user keeps under a key.
func own[T any](u expr.User, key any) *T {
	return u.Own(key, func() any { return new(T) }).(*T)
}

// countOwn adds one to a number of the user's own, and gives it; countAll does so
// with a number of all users.
func countOwn(u expr.User, key any) int64 {
	n := own[int64](u, key)
	*n++
	return *n
}

func countAll(u expr.User, key any) int64 {
	return u.Shared(key, func() any { return new(atomic.Int64) }).(*atomic.Int64).Add(1)
}

// clock is that of the scope's run; outside one, the machine's.
func clock(s *expr.Scope) time.Time {
	if s.User == nil {
		return time.Now()
	}
	return s.User.Now()
}
