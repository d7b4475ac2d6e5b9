package kinesis

import (
	"time"

	"whittle"
)

// meter measures how many bytes a second Kinesis keeps, over the last seconds.
type meter struct {
	buckets [8]int
	start   time.Time // the first time that was given, from which seconds are counted: of a clock that nobody sets
	at      int64     // the second of the newest bucket
	began   int64     // the second of the first bytes
}

func (m *meter) second(now time.Time) int64 {
	if m.start.IsZero() {
		m.start = now
	}
	return int64(now.Sub(m.start) / time.Second)
}

func (m *meter) advance(second int64) {
	if second-m.at >= int64(len(m.buckets)) {
		m.buckets, m.began = [8]int{}, second
	} else {
		for s := m.at + 1; s <= second; s++ {
			m.buckets[s%int64(len(m.buckets))] = 0
		}
	}
	m.at = max(m.at, second)
}

func (m *meter) add(bytes int, now time.Time) {
	if bytes > 0 {
		m.advance(m.second(now))
		m.buckets[m.at%int64(len(m.buckets))] += bytes
	}
}

// rate is 0 where nothing was kept lately.
func (m *meter) rate(now time.Time) float64 {
	m.advance(m.second(now))
	sum := 0
	for _, b := range m.buckets {
		sum += b
	}
	return float64(sum) / float64(min(m.at-m.began+1, int64(len(m.buckets))))
}

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
