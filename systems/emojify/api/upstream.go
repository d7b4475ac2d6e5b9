package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/internal/notify"
)

// Calls says how an upstream is called. The zero value is fit for service.
type Calls struct {
	// Timeout bounds one attempt; of a stream, the wait for each message. 0: 2 s.
	Timeout time.Duration
	// Attempts is how often a call is tried in all, as far as the budget for
	// retries goes (one in ten calls). 0: 3.
	Attempts int
	// FailShare of attempts fail without being made, in [0, 1], to show what
	// comes of it. 0: none.
	FailShare float64
	// Delay is put before every attempt, within its timeout. 0: none.
	Delay time.Duration
}

func (c Calls) withDefaults() Calls {
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.Attempts = cmp.Or(c.Attempts, 3)
	return c
}

func (c Calls) check(name string) error {
	if c.Timeout < 0 || c.Attempts < 0 || c.Delay < 0 || !(c.FailShare >= 0 && c.FailShare <= 1) {
		return whittle.Errorf(whittle.Invalid, "calls to %s: timeout %v, attempts %d and delay %v must not be below 0, the share that fails must be 0 to 1, not %v",
			name, c.Timeout, c.Attempts, c.Delay, c.FailShare)
	}
	return nil
}

// upstream guards the calls to one service: a deadline for each attempt,
// retries within a budget, a breaker.
type upstream struct {
	name    string
	calls   Calls
	now     func() time.Time
	random  func() float64 // in [0, 1), from many goroutines
	breaker breaker
	budget  budget
	metrics *metrics
}

func newUpstream(name string, c Calls, o *Options, m *metrics, r prometheus.Registerer) *upstream {
	u := &upstream{name: name, calls: c.withDefaults(), now: o.now, random: o.random, metrics: m}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "emojify_upstream_open", Help: "1 while calls are not made, because too many failed in a row.",
		ConstLabels: prometheus.Labels{"upstream": name},
	}, func() float64 {
		if u.breaker.open() {
			return 1
		}
		return 0
	}))
	return u
}

// breakerOpenError is the error of a call that was not made, and when to come again.
type breakerOpenError struct {
	name string
	wait time.Duration
}

func (r *breakerOpenError) Error() string {
	return fmt.Sprintf("the %s has not responded for a while", r.name)
}

// do makes a call until it succeeds, fails for good, or nothing is left to
// spend on it. Its errors are whittle's coded ones.
func (u *upstream) do(ctx context.Context, call func(context.Context) error) error {
	u.budget.earn()
	for attempt := 1; ; attempt++ {
		err := u.attempt(ctx, call)
		if err == nil || !passing(err) || attempt >= u.calls.Attempts || ctx.Err() != nil || !u.budget.spend() {
			return err
		}
		// Between half and all of 20, 40, 80 ms, so that those who failed
		// together do not come again together.
		pause := time.Duration((0.5 + u.random()/2) * float64(20*time.Millisecond<<min(attempt-1, 5)))
		if !notify.Sleep(ctx, pause) {
			return err
		}
		u.metrics.retries.WithLabelValues(u.name).Inc()
	}
}

func (u *upstream) attempt(ctx context.Context, call func(context.Context) error) error {
	ok, probe, wait := u.breaker.allow(u.now())
	if !ok {
		u.metrics.attempts.WithLabelValues(u.name, "not made").Inc()
		rest := &breakerOpenError{u.name, wait}
		return &whittle.Error{Code: whittle.Unavailable, Message: rest.Error(), Err: rest}
	}
	one, cancel := context.WithTimeout(ctx, u.calls.Timeout)
	defer cancel()
	err := u.faulty(one, call)
	if err != nil && ctx.Err() != nil && whittle.CodeOf(err) != whittle.NotFound {
		u.breaker.forget(probe) // whoever asked is gone: that says nothing of the upstream
		return ended(ctx, u.name)
	}
	if err != nil && one.Err() != nil {
		err = whittle.Errorf(whittle.DeadlineExceeded, "the %s did not respond within %v", u.name, u.calls.Timeout)
	}
	u.breaker.report(probe, err != nil && atFault(err), u.now())
	code := "ok"
	if err != nil {
		code = whittle.CodeOf(err).String()
	}
	u.metrics.attempts.WithLabelValues(u.name, code).Inc()
	return err
}

// faulty makes the call with the faults that were asked for.
func (u *upstream) faulty(ctx context.Context, call func(context.Context) error) error {
	if u.calls.Delay > 0 && !notify.Sleep(ctx, u.calls.Delay) {
		return ctx.Err()
	}
	if u.calls.FailShare > 0 && u.random() < u.calls.FailShare {
		return whittle.Errorf(whittle.Unavailable, "the %s failed, as its setting says", u.name)
	}
	return call(ctx)
}

// passing reports whether the same call may go well a moment later.
func passing(err error) bool {
	if _, not := errors.AsType[*breakerOpenError](err); not {
		return false
	}
	code := whittle.CodeOf(err)
	return code == whittle.Unavailable || code == whittle.DeadlineExceeded
}

// atFault reports whether an error speaks against the upstream, not the request.
func atFault(err error) bool {
	code := whittle.CodeOf(err)
	return code == whittle.Unavailable || code == whittle.DeadlineExceeded || code == whittle.Internal
}

func ended(ctx context.Context, name string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return whittle.Errorf(whittle.DeadlineExceeded, "the %s did not respond in time", name)
	}
	return whittle.Errorf(whittle.Canceled, "the request was cancelled")
}
