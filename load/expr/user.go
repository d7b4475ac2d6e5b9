package expr

import "time"

// User is the virtual user of a scope, for the expressions that need more
// than its variables.
type User interface {
	// Now is the clock of the user's run.
	Now() time.Time
	// Number is the user's within its group, from 0; Group is the group's name.
	Number() int
	Group() string
	// Failed says that the user's last request did.
	Failed() bool
	// UserState, RunState and BlockState return the value that is stored under a
	// key, which init makes on first use. UserState belongs to the user alone,
	// RunState to all users of the run (of all its blocks in a comparison),
	// BlockState to the users of one block.
	UserState(key any, init func() any) any
	RunState(key any, init func() any) any
	BlockState(key any, init func() any) any
}
