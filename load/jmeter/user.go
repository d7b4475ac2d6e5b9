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

// count adds one to a number and gives it: to the user's own, or to that of all
// users.
func count(u expr.User, key any, own bool) int64 {
	if own {
		return countForUser(u, key)
	}
	return countAll(u, key)
}

func countForUser(u expr.User, key any) int64 {
	n := userState[int64](u, key)
	*n++
	return *n
}

// countAll counts in turns where several processes have a part of the run each: none
// gives a number that another one does.
func countAll(u expr.User, key any) int64 {
	n := u.State(expr.StateOfRun, key, func() any { return new(atomic.Int64) }).(*atomic.Int64).Add(1)
	index, of := u.Part()
	return index + of*(n-1) + 1
}

// clock is that of the scope's run; outside one, the machine's.
func clock(s *expr.Scope) time.Time {
	if s.User == nil {
		return time.Now()
	}
	return s.User.Now()
}
