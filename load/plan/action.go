package plan

import (
	"context"
	"time"

	"whittle/load/expr"
)

// Action is a step that only JMeter plans have. One Action serves all users: their
// state is in User.State.
type Action interface {
	// Act runs the step, and reports whether the user continues.
	Act(ctx context.Context, u User) bool
	// Inner returns the steps inside it.
	Inner() []Step
}

// User is a running virtual user, as an action sees it; expressions see its first
// part.
type User interface {
	expr.User
	// Scope has the user's variables; its User is this one.
	Scope() *expr.Scope
	// RunSteps runs a flow, and reports whether the user continues.
	RunSteps(ctx context.Context, steps []Step) bool
	// Due is when the user's next step is due. PauseUntil postpones it, and waits.
	// False: the user's time was over before.
	Due() time.Time
	PauseUntil(ctx context.Context, until time.Time) bool
	// TimeUp reports whether the user must stop before its next step. Stop makes
	// it end.
	TimeUp() bool
	Stop()
	// RequestsSent is the number of requests it has sent so far.
	RequestsSent() int64
	// GroupIndex is the index of its group; InGroup and InFlight are the numbers of
	// running users in the group and in the run.
	GroupIndex() int
	InGroup() int64
	InFlight() int64
	ClearCookies()
}
