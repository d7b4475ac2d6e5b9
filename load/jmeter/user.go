package jmeter

import (
	"sync/atomic"
	"time"

	"whittle/load/expr"
)

// userState gives what one user keeps under a key.
func userState[T any](u expr.User, key any) *T {
	return u.State(expr.StateOfUser, key, func() any { return new(T) }).(*T)
}

// countForUser adds one to a number of the user's own, and gives it; countAll does so
// with a number of all users.
func countForUser(u expr.User, key any) int64 {
	n := userState[int64](u, key)
	*n++
	return *n
}

func countAll(u expr.User, key any) int64 {
	return u.State(expr.StateOfRun, key, func() any { return new(atomic.Int64) }).(*atomic.Int64).Add(1)
}

// clock is that of the scope's run; outside one, the machine's.
func clock(s *expr.Scope) time.Time {
	if s.User == nil {
		return time.Now()
	}
	return s.User.Now()
}
