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
	// State returns the value that is stored under a key, which init makes on first
	// use.
	State(of StateOf, key any, init func() any) any
}

// StateOf says whose a stored value is.
type StateOf uint8

const (
	StateOfUser  StateOf = iota // the user's alone
	StateOfRun                  // all users' of the run, of all its blocks in a comparison
	StateOfBlock                // all users' of one block of a comparison, else of the run
)
