package event

import "time"

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
	d := dateReader{rest: text, ok: true}
	year := d.number(4, 0, 9999)
	d.take('-')
	month := d.number(2, 1, 12)
	d.take('-')
	day := d.number(2, 1, daysIn(year, month))
	var hour, minute, second, nano, offset int
	if len(d.rest) > 0 {
		if d.rest[0] != 'T' && d.rest[0] != 't' && d.rest[0] != ' ' {
			return time.Time{}, false
		}
		d.rest = d.rest[1:]
		hour = d.number(2, 0, 23)
		d.take(':')
		minute = d.number(2, 0, 59)
		if len(d.rest) > 0 && d.rest[0] == ':' {
			d.rest = d.rest[1:]
			second = d.number(2, 0, 60) // 60 is a leap second, and the next one's 0
			nano = d.fraction()
		}
		offset = d.offset()
	}
	if !d.ok || len(d.rest) > 0 {
		return time.Time{}, false
	}
	return time.Date(year, time.Month(month), day, hour, minute, second-offset, nano, time.UTC), true
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// dateReader takes one part after the other, and remembers that one was not there.
type dateReader struct {
	rest []byte
	ok   bool
}

func (d *dateReader) number(width, least, most int) int {
	if !d.ok || len(d.rest) < width {
		d.ok = false
		return 0
	}
	n := 0
	for _, c := range d.rest[:width] {
		if c-'0' > 9 {
			d.ok = false
			return 0
		}
		n = n*10 + int(c-'0')
	}
	d.rest = d.rest[width:]
	d.ok = n >= least && n <= most
	return n
}

func (d *dateReader) take(c byte) {
	if !d.ok || len(d.rest) == 0 || d.rest[0] != c {
		d.ok = false
		return
	}
	d.rest = d.rest[1:]
}

// fraction reads a decimal fraction of a second, in nanoseconds; further
// digits are dropped.
func (d *dateReader) fraction() int {
	if len(d.rest) == 0 || d.rest[0] != '.' && d.rest[0] != ',' {
		return 0
	}
	n, unit, i := 0, 100_000_000, 1
	for ; i < len(d.rest) && d.rest[i]-'0' <= 9; i++ {
		n += int(d.rest[i]-'0') * unit
		unit /= 10
	}
	d.ok = d.ok && i > 1
	d.rest = d.rest[i:]
	return n
}

// offset reads how many seconds the place is ahead of UTC.
func (d *dateReader) offset() int {
	if !d.ok || len(d.rest) == 0 {
		return 0
	}
	sign := d.rest[0]
	d.rest = d.rest[1:]
	if sign == 'Z' || sign == 'z' {
		return 0
	}
	if sign != '+' && sign != '-' {
		d.ok = false
		return 0
	}
	seconds := 3600 * d.number(2, 0, 23)
	if len(d.rest) > 0 && d.rest[0] == ':' {
		d.rest = d.rest[1:]
		seconds += 60 * d.number(2, 0, 59)
	} else if len(d.rest) > 0 {
		seconds += 60 * d.number(2, 0, 59)
	}
	if sign == '-' {
		return -seconds
	}
	return seconds
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
