package kinesis

import (
	"time"

	"whittle"
)

// outage notes calls that failed as a whole, in a row. While it lasts the
// stream says that it takes nothing; every so often it lets some through, so
// that the end of the outage is seen.
type outage struct {
	failures int
	cause    error
	until    time.Time
}

const (
	outageAfter = 3
	outagePause = 2 * time.Second
)

func (o *outage) add(failed outcome, now time.Time) {
	if failed.disposition == rejected || whittle.CodeOf(failed.cause) == whittle.ResourceExhausted {
		return // throttled or at fault ourselves: the API is up
	}
	o.failures++
	o.cause, o.until = failed.cause, now.Add(outagePause)
}

func (o *outage) err(now time.Time) error {
	if o.failures < outageAfter || now.After(o.until) {
		return nil
	}
	return whittle.Errorf(whittle.Unavailable, "kinesis takes nothing: %w", o.cause)
}
