package plan

import (
	"context"
	"time"

	"whittle/load/expr"
)

// Action is a step of a kind that Artillery's flows do not have. It is the same
// for all users: what one of them keeps is with the user.
type Action interface {
	// Act does it, and reports whether the user goes on.
	Act(ctx context.Context, u User) bool
	// Inner are the steps within it.
	Inner() []Step
}

// User is a virtual user under way, as an action sees it.
type User interface {
	// Scope has the user's variables; its User is this one.
	Scope() *expr.Scope
	// RunSteps goes through a flow, and reports whether the user goes on.
	RunSteps(ctx context.Context, steps []Step) bool
	// Due is when the user's next step is; Rest puts it off, and waits. False:
	// the user's time was over before.
	Due() time.Time
	PauseUntil(ctx context.Context, until time.Time) bool
	// TimeUp says that the user is to stop before its next step, and Leave that
	// it has nothing more to do.
	TimeUp() bool
	Stop()
	// RequestsSent is how many requests it has sent.
	RequestsSent() int64
	// GroupIndex tells its group from others; InGroup and InFlight are how many
	// users the group and the run have under way.
	GroupIndex() int
	InGroup() int64
	InFlight() int64
	ClearCookies()
}
