package form

import (
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/jsondoc"
)

// epochWords name the units of numbers since 1970, each a thousandth of the one before.
var epochWords = [...]string{" in seconds since 1970", " in milliseconds since 1970", " in microseconds since 1970", " in nanoseconds since 1970"}

// epochTime reads an integer of units since 1970 as a time of 2001 to 2099.
func epochTime(s []byte) (at time.Time, f form, ok bool) {
	if len(s) < 10 || len(s) > 19 {
		return at, f, false
	}
	n, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil {
		return at, f, false
	}
	unit := int64(1)
	for _, words := range epochWords {
		at := time.Unix(n/unit, n%unit*(int64(time.Second)/unit))
		if year := at.UTC().Year(); year > 2000 && year < 2100 {
			return at, form{class: classTime, as: words}, true
		}
		unit *= 1000
	}
	return at, f, false
}

// readTime reads a text as a time.
func readTime(s []byte) (at time.Time, f form, ok bool) {
	if len(s) < len(time.DateOnly) || len(s) > 40 {
		return at, f, false
	}
	if at, f, ok = epochTime(s); ok {
		f.as += ", in a string"
		return at, f, true
	}
	if s[0] < 'A' {
		return isoTime(s)
	}
	at, layout := namedDate(string(s))
	return at, form{class: classTime, as: " as " + layout}, layout != ""
}

// isoZones are the layouts of what follows the seconds, by how long it is.
var isoZones = map[int][]string{0: {""}, 1: {"Z"}, 2: {" Z"}, 3: {"-07"}, 4: {" UTC", " -07"}, 5: {"-0700"}, 6: {"-07:00", " -0700"}, 7: {" -07:00"}}

// isoTime reads a date, and a date with a time, as ISO 8601 and RFC 3339 have them. The form has
// the digits after the second and the zone: a service writes each time with as many, or leaves
// zeros out.
func isoTime(s []byte) (at time.Time, f form, ok bool) {
	if s[4] != '-' || s[7] != '-' {
		return at, f, false
	}
	f.class = classTime
	if len(s) == len(time.DateOnly) {
		_, err := time.Parse(time.DateOnly, string(s))
		f.as = " as " + time.DateOnly
		return at, f, err == nil // it is hours away from now
	}
	layout := "2006-01-02T15:04:05"
	if s[10] == ' ' {
		layout = time.DateTime
	}
	if len(s) < len(layout) {
		return at, f, false
	}
	zone, fraction := s[len(layout):], ""
	if len(zone) > 0 && (zone[0] == '.' || zone[0] == ',') {
		digits := jsondoc.SkipDigits(zone, 1) - 1
		if digits == 0 {
			return at, f, false
		}
		zone, fraction = zone[1+digits:], "."+strings.Repeat("0", digits)
	}
	for _, written := range isoZones[len(zone)] {
		if at, err := time.Parse(layout+written, string(s)); err == nil {
			f.as = " as " + layout + fraction + string(zone)
			return at, f, true
		}
	}
	return at, f, false
}

// dateLayouts are those with names of days and months: the one of HTTP, and others.
var dateLayouts = []string{
	"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, time.UnixDate,
	"Mon, 02-Jan-2006 15:04:05 MST", "Mon, 02-Jan-06 15:04:05 MST",
}

// namedDate reads a date with names, and gives its layout; empty: it is none.
func namedDate(s string) (at time.Time, layout string) {
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, layout
		}
	}
	return at, ""
}

// Date reads a date as HTTP has it (RFC 9110, section 5.6.7), or as old cookies do.
func Date(s string) (at time.Time, ok bool) {
	at, layout := namedDate(s)
	return at, layout != ""
}

// durationOf reads a length of time, such as 1h5m or PT14M30S, in seconds. Of two servers, each
// says how long it has been running, so another length of the text is no fault.
func durationOf(s []byte) (seconds float64, ok bool) {
	if len(s) < 2 || len(s) > 40 || s[0] != 'P' && (s[0] < '0' || s[0] > '9') || s[len(s)-1] <= '9' {
		return 0, false
	}
	d, err := time.ParseDuration(strings.TrimPrefix(strings.ToLower(string(s)), "pt"))
	return d.Seconds(), err == nil
}
