package expr

import "time"

// User is the one whose scope it is, for the expressions that ask for more
// than its variables.
type User interface {
	// Now is the clock of the user's run.
	Now() time.Time
	// Number is the user's within its group, from 0; Group is the group's name.
	Number() int
	Group() string
	// Failed says that the user's last request did.
	Failed() bool
	// UserState keeps something for the user alone, Shared for all users of the run,
	// in all its blocks where it is one side of a comparison, and SharedInBlock
	// for those of one block: what is not there under the key yet is made by
	// fresh.
	UserState(key any, fresh func() any) any
	RunState(key any, fresh func() any) any
	BlockState(key any, fresh func() any) any
}
