package form

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/jsondoc"
)

// epochWords name the units of numbers since 1970, each a thousandth of the one before.
var epochWords = [...]string{
	"a time in seconds since 1970", "a time in milliseconds since 1970", "a time in microseconds since 1970", "a time in nanoseconds since 1970",
}

// epochTime reads an integer of units since 1970 as a time from 2001 to 2099.
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
			return at, form{class: classTime, words: words}, true
		}
		unit *= 1000
	}
	return at, f, false
}

// readTime reads a text as a time. The form has the zone and the digits after the second: a service
// always writes the same number of digits, or leaves out zeros.
func readTime(s []byte) (at time.Time, f form, ok bool) {
	if len(s) < len(time.DateOnly) || len(s) > 40 {
		return at, f, false
	}
	if at, f, ok = epochTime(s); ok {
		f.words += ", in a string"
		return at, f, true
	}
	var layout string
	switch {
	case s[0] >= 'A':
		at, layout = named(string(s))
	case s[4] != '-' || s[7] != '-':
		return at, f, false
	case len(s) == len(time.DateOnly):
		at, layout = parsed(string(s), []string{time.DateOnly})
	default:
		at, layout = parsed(string(s), isoLayouts)
	}
	as := layout
	switch {
	case layout == time.DateOnly:
		at = time.Time{} // it is hours away from now
	case layout != "" && s[0] < 'A':
		as = layout[:len(time.DateTime)]
		zone := s[len(time.DateTime):]
		if fraction := bytes.TrimLeft(zone, ".,"); len(fraction) < len(zone) {
			n := jsondoc.SkipDigits(fraction, 0)
			as, zone = as+"."+strings.Repeat("0", n), fraction[n:]
		}
		as += string(zone)
	}
	return at, form{class: classTime, words: "a time as " + as}, layout != ""
}

// isoLayouts are the layouts of ISO 8601 and RFC 3339, and what programs make of them.
var isoLayouts = func() []string {
	var list []string
	for _, zone := range []string{"Z07:00", "", "Z0700", "Z07", " Z07:00", " Z0700", " Z07", " UTC"} {
		list = append(list, "2006-01-02T15:04:05"+zone, time.DateTime+zone)
	}
	return list
}()

// namedLayouts are the layouts that begin with the name of a day: HTTP's and others.
var namedLayouts = []string{
	"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, time.UnixDate,
	"Mon, 02-Jan-2006 15:04:05 MST", "Mon, 02-Jan-06 15:04:05 MST",
}

// parsed reads a time by the first layout that fits; empty where none does.
func parsed(s string, layouts []string) (at time.Time, layout string) {
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, layout
		}
	}
	return at, ""
}

var days = [...]string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// named reads a time by namedLayouts. Hardly any text begins with a day.
func named(s string) (at time.Time, layout string) {
	for _, day := range days {
		if len(s) > len(day) && strings.EqualFold(s[:len(day)], day) {
			return parsed(s, namedLayouts)
		}
	}
	return at, ""
}

// Date reads a date of HTTP (RFC 9110, section 5.6.7) or of old cookies.
func Date(s string) (at time.Time, ok bool) {
	at, layout := named(s)
	return at, layout != ""
}

// durationOf reads a length of time, such as 1h5m or PT14M30S, in seconds. Each of two servers tells its
// own uptime, so another length of the text is no fault.
func durationOf(s []byte) (seconds float64, ok bool) {
	if len(s) < 2 || len(s) > 40 || s[0] != 'P' && (s[0] < '0' || s[0] > '9') || s[len(s)-1] <= '9' {
		return 0, false
	}
	d, err := time.ParseDuration(strings.TrimPrefix(strings.ToLower(string(s)), "pt"))
	return d.Seconds(), err == nil
}
