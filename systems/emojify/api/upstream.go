package api

import (
	"context"
	"errors"
	"time"

	"whittle"
)

// upstream calls one service, with a deadline for each call. Whoever wants retries has
// them from the client, which is told when to come again.
type upstream struct {
	name    string
	timeout time.Duration
	metrics *metrics
}

// do makes a call. Its errors are whittle's coded ones.
func (u *upstream) do(ctx context.Context, call func(context.Context) error) error {
	one, cancel := context.WithTimeout(ctx, u.timeout)
	defer cancel()
	err := call(one)
	switch {
	case err == nil || whittle.CodeOf(err) == whittle.NotFound:
	case errors.Is(ctx.Err(), context.Canceled):
		return whittle.Errorf(whittle.Canceled, "the request was cancelled")
	case one.Err() != nil || whittle.CodeOf(err) == whittle.DeadlineExceeded: // the other side may see the deadline first
		err = whittle.Errorf(whittle.DeadlineExceeded, "the %s did not respond in time", u.name)
	}
	code := "ok"
	if err != nil {
		code = whittle.CodeOf(err).String()
	}
	u.metrics.attempts.WithLabelValues(u.name, code).Inc()
	return err
}
