package form

import (
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/jsondoc"
)

// The ways to write a time, which are the detail of its form. To that of RFC 3339
// the precision is added.
const (
	writtenEpoch uint8 = iota << 4 // a number of units since 1970: + precision
	writtenText                    // the same in a string
	writtenT                       // 2006-01-02T15:04:05: + precision
	writtenSpace                   // 2006-01-02 15:04:05: + precision
	writtenDate                    // 2006-01-02
	writtenHTTP                    // Mon, 02 Jan 2006 15:04:05 GMT
	writtenNames                   // another layout with names of days and months
)

// How precise a time is written; Go leaves trailing zeros out and Python six of
// them, so the groups are wide.
const (
	inSeconds uint8 = iota
	inMillis
	inMicros
	inNanos
)

var precisionWords = [...]string{"seconds", "milliseconds", "microseconds", "nanoseconds"}

// Zones that are no offset.
const (
	zoneUTC  int16 = 1 << 14 // written Z
	zoneNone int16 = zoneUTC + 1
)

// writtenWords name the ways, with # for the precision.
var writtenWords = [...]string{"# since 1970", "# since 1970 in a string", "RFC 3339 in #", "date and time in #", "a date", "an HTTP date", "a date with names"}

func (f form) timeWords() string {
	s := strings.Replace(writtenWords[f.detail>>4], "#", precisionWords[f.detail&3], 1)
	if f.detail < writtenT || f.detail >= writtenDate {
		return s
	}
	switch f.zone {
	case zoneUTC:
		return s + ", Z"
	case zoneNone:
		return s + ", without a zone"
	}
	return s + time.Time{}.In(time.FixedZone("", int(f.zone)*60)).Format(", -07:00")
}

// Numbers of units since 1970 that are taken for times: 2001 to 2099.
const (
	epochLow  = 1_000_000_000
	epochHigh = 4_100_000_000
)

// epochTime reads an integer as a time.
func epochTime(s []byte) (time.Time, form, bool) {
	if len(s) < 10 || len(s) > 19 {
		return time.Time{}, form{}, false
	}
	n, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil {
		return time.Time{}, form{}, false
	}
	unit := int64(1)
	for p := inSeconds; p <= inNanos; p, unit = p+1, unit*1000 {
		if sec := n / unit; sec >= epochLow && sec < epochHigh {
			return time.Unix(sec, n%unit*(1_000_000_000/unit)), form{class: classTime, detail: writtenEpoch + p}, true
		}
	}
	return time.Time{}, form{}, false
}

// readTime reads a text as a time.
func readTime(s []byte) (time.Time, form, bool) {
	if len(s) < 10 || len(s) > 40 {
		return time.Time{}, form{}, false
	}
	if t, f, ok := epochTime(s); ok {
		f.detail += writtenText
		return t, f, true
	}
	if t, f, ok := isoTime(s); ok {
		return t, f, true
	}
	for i, layout := range dateLayouts {
		if t, err := time.Parse(layout, string(s)); s[0] >= 'A' && err == nil {
			return t, form{class: classTime, detail: writtenHTTP + (writtenNames-writtenHTTP)*uint8(min(i, 1))}, true
		}
	}
	return time.Time{}, form{}, false
}

// isoZones are the layouts of what follows the seconds, by how long it is.
var isoZones = map[int][]string{0: {""}, 1: {"Z"}, 2: {" Z"}, 3: {"-07"}, 4: {" UTC", " -07"}, 5: {"-0700"}, 6: {"-07:00", " -0700"}, 7: {" -07:00"}}

// isoTime reads a date, and a date with a time, as ISO 8601 and RFC 3339 have them.
func isoTime(s []byte) (t time.Time, f form, ok bool) {
	if s[4] != '-' || s[7] != '-' {
		return t, f, false
	}
	f.class = classTime
	if len(s) == len(time.DateOnly) {
		t, err := time.Parse(time.DateOnly, string(s))
		f.detail, f.zone = writtenDate, zoneNone
		return t, f, err == nil
	}
	layout := "2006-01-02T15:04:05"
	if f.detail = writtenT; s[10] == ' ' {
		f.detail, layout = writtenSpace, time.DateTime
	}
	fraction := fractionOf(s)
	if fraction < 0 {
		return t, f, false
	}
	zone := s[len(layout):]
	if fraction > 0 {
		f.detail += min(inNanos, uint8(min(fraction, 9)+2)/3)
		zone = zone[1+fraction:]
	}
	for _, written := range isoZones[len(zone)] {
		t, err := time.Parse(layout+written, string(s))
		if err != nil {
			continue
		}
		_, seconds := t.Zone()
		switch f.zone = int16(seconds / 60); {
		case written == "":
			f.zone = zoneNone
		case strings.HasSuffix(written, "Z"), strings.HasSuffix(written, "UTC"):
			f.zone = zoneUTC
		}
		return t, f, true
	}
	return t, f, false
}

// fractionOf is how many digits a time in text has after the second; -1: it is none of ISO
// 8601. Where the monolith writes each time as many, one that leaves zeros out does not.
func fractionOf(s []byte) int {
	if len(s) < 19 || s[4] != '-' {
		return -1
	}
	if len(s) == 19 || s[19] != '.' && s[19] != ',' {
		return 0
	}
	return jsondoc.SkipDigits(s, 20) - 20
}

// dateLayouts are those with names of days and months: the one of HTTP, and others.
var dateLayouts = []string{
	"Mon, 02 Jan 2006 15:04:05 GMT", time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, time.UnixDate,
	"Mon, 02-Jan-2006 15:04:05 MST", "Mon, 02-Jan-06 15:04:05 MST",
}

// Date reads a date as HTTP has it (RFC 9110, section 5.6.7), or as old cookies do.
func Date(s string) (at time.Time, ok bool) {
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, true
		}
	}
	return at, false
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
