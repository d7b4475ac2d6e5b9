package form

import (
	"slices"
	"time"

	"whittle"
)

// sideClock is what a response says of the time at which it was made: its Date, and
// how long it took.
type sideClock struct {
	date    time.Time
	latency time.Duration
}

func clockOf(a *whittle.Response) sideClock {
	at, ok := Date(a.Header.Get("Date"))
	if !ok || a.Latency <= 0 {
		return sideClock{}
	}
	return sideClock{at, a.Latency}
}

// How far a Date may be from the request for it to be the moment that times are held
// against: older it may come out of a cache with its response, and later it says for how
// long the request has queued, unless its clock is wrong by more than that.
const (
	dateOlder = 10 * time.Second
	dateLater = time.Minute
)

// moment is when a side was asked, by its own clock if it says so: a queue before it,
// and a clock that is wrong, are then no matter of the times that it writes.
func (e *formExchange) moment(side int) time.Time {
	date := e.clocks[side].date
	if d := date.Sub(e.at); date.IsZero() || e.at.IsZero() || d > dateLater || d < -dateOlder {
		return e.at
	}
	return date
}

const (
	agesLeast = 12    // of the monolith before a time may be called stale
	dateTick  = 1_000 // ms, the resolution of a Date
	staleWord = "stale"
)

// isStale reports whether a time is older than the response's own Date allows, and by
// how many ms. A time that is read while the request is served is no older than the
// Date less the latency; the monolith's past says how far ahead of that moment it
// lies (15 min of an expiry). A queue before a side, its pauses, and a clock that is
// wrong by a constant move nothing: the Date is of the same clock, and a pause between
// the two is in the latency. A Date has whole seconds, so a second less is the same.
func (p *formPath) isStale(v *value, c sideClock) (ms int64, stale bool) {
	if c.date.IsZero() || len(p.Ages) < agesLeast || v.form.detail == writtenDate {
		return 0, false
	}
	ages := slices.Sorted(slices.Values(p.Ages))
	if ages[len(ages)-1]-ages[0] > nowRange {
		return 0, false
	}
	usual := ages[len(ages)/2]
	age := (v.at.Sub(c.date) + c.latency).Milliseconds()
	return usual - age, age < usual-dateTick
}

// seeAge takes up how far a time of the monolith is from its Date.
func (p *formPath) seeAge(v *value, c sideClock) {
	if c.date.IsZero() || v.form.detail == writtenDate {
		return
	}
	p.Ages = append(p.Ages, v.at.Sub(c.date).Milliseconds())
	p.Ages = p.Ages[max(0, len(p.Ages)-offsetsKept):]
}
