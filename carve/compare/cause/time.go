package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// clock is a time as it is written.
type clock struct {
	at     time.Time // in UTC where zoned, else the clock's reading as if it were UTC
	wall   time.Time // the clock's reading as if it were UTC
	zoned  bool
	digits int  // after the second
	date   bool // no time of day
	form   string
	zone   string // as it is written
	joint  byte   // between date and time
}

// otherForms are ways to write a time that are not ISO 8601.
var otherForms = []string{
	time.RFC1123, time.RFC1123Z, time.RFC850, time.ANSIC, "2006/01/02 15:04:05", "02.01.2006 15:04:05", "02.01.2006 15:04", "02.01.2006",
	"01/02/2006", "02/01/2006", "2006/01/02", "20060102", "20060102150405", "Jan 2, 2006", "2 Jan 2006", "January 2, 2006", "02-Jan-2006",
	"20060102T150405Z", "Jan 2, 2006 3:04:05 PM", "01/02/2006 15:04:05", "02/01/2006 15:04:05",
}

const timeMost = 40

// readClock reads a date or a time.
func readClock(s string) (c clock, ok bool) {
	if len(s) < 8 || len(s) > timeMost || s[len(s)-1] == ' ' {
		return c, false
	}
	if c, ok = readISO(s); ok {
		return c, true
	}
	for _, form := range otherForms {
		if len(s) < len(form)-4 || len(s) > len(form)+8 {
			continue
		}
		at, err := time.Parse(form, s)
		if err != nil || at.Year() < 1 {
			continue
		}
		zoned := strings.Contains(form, "MST") || strings.Contains(form, "-0700") || strings.HasSuffix(form, "Z")
		return clock{at: at.UTC(), wall: wallOf(at), zoned: zoned, form: form, date: !strings.ContainsAny(form, ":") && !strings.Contains(form, "15")}, true
	}
	return c, false
}

func wallOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// isoTime is a date, with a time or without: the date, what joins them, the time with its seconds
// and what follows these, and the zone.
var isoTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:([Tt ])(\d{1,2}:\d\d)(?:(:\d\d)(?:[.,](\d{1,9}))?)?([Zz+\- U].*)?)?$`)

// readISO reads 2024-03-01, with a time and a zone or without.
func readISO(s string) (c clock, ok bool) {
	m := isoTime.FindStringSubmatch(s)
	if m == nil {
		return c, false
	}
	c = clock{form: "ISO", date: m[2] == "", digits: len(m[5]), zone: m[6]}
	layout, text := "2006-01-02", m[1]
	if !c.date {
		c.joint = m[2][0]
		layout, text = layout+"T15:04:05", text+"T"+m[3]+cmp.Or(m[4], ":00")
	}
	if c.digits > 0 {
		text += "." + m[5]
	}
	wall, err := time.Parse(layout, text)
	if c.at, c.wall = wall, wall; c.zone == "" || err != nil {
		return c, err == nil
	}
	offset, ok := readOffset(c.zone)
	c.zoned, c.at = true, c.wall.Add(-offset)
	return c, ok
}

// readOffset reads Z, UTC, +02:00, +0200 or +02.
func readOffset(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	switch strings.ToUpper(s) {
	case "Z", "UTC", "GMT":
		return 0, true
	}
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	digits := strings.ReplaceAll(s[1:], ":", "")
	if len(digits) == 2 {
		digits += "00"
	}
	h, err := strconv.Atoi(digits)
	if err != nil || len(digits) != 4 || h%100 > 59 {
		return 0, false
	}
	d := time.Duration(h/100)*time.Hour + time.Duration(h%100)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, true
}

// timeCauses are the causes of two written times; ok is false where one is none.
func timeCauses(a, b string) (keys []string, ok bool) {
	x, okX := readClock(a)
	y, okY := readClock(b)
	if !okX || !okY {
		return nil, false
	}
	keys = dayCauses(&x, &y)
	switch {
	case x.date != y.date:
		return keys, true
	case x.zoned != y.zoned:
		if samePoint(x.wall, y.wall, &x, &y) {
			return append(keys, map[bool]string{true: "zone lost", false: "zone added"}[x.zoned]), true
		}
		if s := y.wall.Sub(x.wall).Seconds(); quarterHours(s) {
			keys = append(keys, map[bool]string{true: "zone lost", false: "zone added"}[x.zoned]+":shifted")
		}
		return keys, true
	case x.at.Equal(y.at):
		return append(keys, spellings(&x, &y)...), true
	}
	if f := fractionCause(&x, &y); f != "" {
		keys = append(keys, f)
	}
	if x.wall.Equal(y.wall) && x.zoned {
		keys = append(keys, "zone swapped")
	}
	if s := y.at.Sub(x.at).Seconds(); quarterHours(s) && !x.date {
		keys = append(keys, fmt.Sprintf("shift:%+d", int(s)))
	}
	return keys, true
}

// samePoint reports whether two readings are the same as far as the shorter of
// them goes.
func samePoint(s, t time.Time, x, y *clock) bool {
	return cutTo(s, min(x.digits, y.digits)).Equal(cutTo(t, min(x.digits, y.digits)))
}

func cutTo(t time.Time, digits int) time.Time { return t.Truncate(unitOf(digits)) }

// unitOf is the resolution of so many digits after the second.
func unitOf(digits int) time.Duration {
	unit := time.Second
	for range min(digits, 9) {
		unit /= 10
	}
	return unit
}

// spellings are those of one instant that is written in two ways.
func spellings(x, y *clock) (keys []string) {
	switch {
	case x.form != y.form:
		return []string{"time form"}
	case !x.wall.Equal(y.wall):
		return []string{"zone"}
	}
	if x.digits > y.digits {
		keys = append(keys, fmt.Sprintf("fraction cut:%d", y.digits))
	}
	if x.digits < y.digits {
		keys = append(keys, fmt.Sprintf("fraction add:%d", y.digits))
	}
	if x.zone != y.zone {
		keys = append(keys, "zone word")
	}
	if x.joint != y.joint {
		keys = append(keys, "time T")
	}
	if len(keys) == 0 {
		keys = append(keys, "time form")
	}
	return keys
}

// fractionCause is that of times with other digits after the second.
func fractionCause(x, y *clock) string {
	switch {
	case y.digits < x.digits && cutTo(x.at, y.digits).Equal(y.at):
		return fmt.Sprintf("fraction cut:%d", y.digits)
	case y.digits <= x.digits && y.at.Sub(x.at).Abs() < time.Second:
		for d := range x.digits {
			if cutTo(x.at, d).Equal(y.at) {
				return fmt.Sprintf("fraction cut:%d", d)
			}
			if x.at.Round(unitOf(d)).Equal(y.at) {
				return fmt.Sprintf("fraction:%d", d)
			}
		}
	case y.digits > x.digits && cutTo(y.at, x.digits).Equal(x.at):
		return fmt.Sprintf("fraction add:%d", y.digits)
	}
	return ""
}

// dayCauses are those of the date.
func dayCauses(x, y *clock) (keys []string) {
	dx, dy := x.wall.Truncate(24*time.Hour), y.wall.Truncate(24*time.Hour)
	switch {
	case x.date != y.date && dx.Equal(dy):
		return []string{map[bool]string{true: "date more", false: "date only"}[x.date]}
	case x.date && y.date && dx.Equal(dy):
		return []string{"time form"}
	case (x.date || y.date) && dy.Sub(dx) == 24*time.Hour:
		keys = append(keys, "day:later")
	case (x.date || y.date) && dx.Sub(dy) == 24*time.Hour:
		keys = append(keys, "day:earlier")
	}
	if dx.Year() == dy.Year() && dx.Day() == int(dy.Month()) && dy.Day() == int(dx.Month()) && !dx.Equal(dy) {
		keys = append(keys, "day month")
	}
	if year := y.wall.Year() - x.wall.Year(); year != 0 && x.wall.AddDate(year, 0, 0).Equal(y.wall) {
		isoX, _ := x.wall.ISOWeek()
		if isoX == y.wall.Year() || year == 1 && x.wall.Month() == time.December && x.wall.Day() > 24 {
			keys = append(keys, "week year")
		}
	}
	return keys
}

// timeNumber is the cause of a time that is a number on the other side.
func timeNumber(text, number string) string {
	c, ok := readClock(text)
	n, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return ""
	}
	for _, u := range []struct {
		name string
		unit float64
	}{{"seconds", 1}, {"milliseconds", 1e3}, {"microseconds", 1e6}, {"nanoseconds", 1e9}} {
		if d := n/u.unit - float64(c.at.UnixNano())/1e9; d > -1 && d < 1 {
			return u.name
		}
	}
	return ""
}
