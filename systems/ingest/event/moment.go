package event

import (
	"strings"
	"time"
)

// longTime is more than any time has, in bytes.
const longTime = 64

// parseTime reads a date and time as ISO 8601 writes them:
// 2015-12-10T04:08:31.905Z, with any number of digits of the second, with an
// offset (+02:00, +0200, +02) or none (then it is UTC), without seconds, with
// a space in place of T, or the date alone. At most 64 bytes.
func parseTime(text []byte) (t time.Time, ok bool) {
	if len(text) > longTime {
		return time.Time{}, false
	}
	if t.UnmarshalText(text) == nil { // as nearly all are, and nothing is allocated
		return t.UTC(), true
	}
	const date = len("2006-01-02")
	if len(text) == date {
		t, err := time.Parse(time.DateOnly, string(text))
		return t, err == nil
	}
	if len(text) < date || text[date] != 'T' && text[date] != 't' && text[date] != ' ' {
		return time.Time{}, false
	}
	rest := strings.ToUpper(string(text[date+1:]))
	for _, layout := range clocks {
		if t, err := time.Parse("2006-01-02"+layout, string(text[:date])+rest); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// clocks are the forms of a time of the day, each with a fraction of the second where it has one.
var clocks = [...]string{
	"15:04:05Z07:00", "15:04:05Z0700", "15:04:05Z07", "15:04:05",
	"15:04Z07:00", "15:04Z0700", "15:04Z07", "15:04",
}

// appendTime appends t in UTC as a JSON string, to the millisecond.
func appendTime(dst []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	dst = append(dst, '"')
	dst = appendTwo(appendTwo(dst, year/100), year%100)
	dst = appendTwo(append(dst, '-'), int(month))
	dst = appendTwo(append(dst, '-'), day)
	dst = appendTwo(append(dst, 'T'), hour)
	dst = appendTwo(append(dst, ':'), minute)
	dst = appendTwo(append(dst, ':'), second)
	milli := t.Nanosecond() / 1_000_000
	dst = appendTwo(append(dst, '.', '0'+byte(milli/100)), milli%100)
	return append(dst, 'Z', '"')
}

func appendTwo(dst []byte, n int) []byte { return append(dst, '0'+byte(n/10%10), '0'+byte(n%10)) }

// happened says when an event happened, by the server's clock.
//
// original is what the client's clock said then, sent what it said when it
// sent; both are the same clock's, so their difference holds however wrong it
// is: received − (sent − original). Where the difference is beyond the limits,
// or sent is not known, original is taken as it is, and where that is beyond
// the limits too, the event happened when it was received.
func (l *Limits) happened(received, original, sent time.Time) time.Time {
	if original.IsZero() {
		return received
	}
	if age := sent.Sub(original); !sent.IsZero() && l.reasonable(age) {
		return received.Add(-age)
	}
	if l.reasonable(received.Sub(original)) {
		return original
	}
	return received
}

func (l *Limits) reasonable(age time.Duration) bool { return age >= -l.Future && age <= l.Past }
