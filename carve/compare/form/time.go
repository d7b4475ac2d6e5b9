package form

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"whittle/carve/compare/jsondoc"
)

// The ways to write a time, which are the detail of its form. To that of RFC 3339
// the precision is added.
const (
	writtenEpoch   uint8 = 0  // a number of units since 1970: + precision
	writtenText    uint8 = 16 // the same in a string
	writtenT       uint8 = 32 // 2006-01-02T15:04:05: + precision
	writtenSpace   uint8 = 48 // 2006-01-02 15:04:05: + precision
	writtenDate    uint8 = 64 // 2006-01-02
	writtenHTTP    uint8 = 65 // Mon, 02 Jan 2006 15:04:05 GMT
	writtenOldText uint8 = 66 // another layout with names of days and months
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

func (f form) timeWords() string {
	unit := precisionWords[f.detail&3]
	var zone string
	switch f.zone {
	case zoneUTC:
		zone = ", Z"
	case zoneNone:
		zone = ", without a zone"
	default:
		sign, z := "+", int(f.zone)
		if z < 0 {
			sign, z = "-", -z
		}
		zone = ", " + sign + strconv.Itoa(z/60) + ":" + strconv.Itoa(z%60/10) + strconv.Itoa(z%10)
	}
	switch {
	case f.detail < writtenText:
		return unit + " since 1970"
	case f.detail < writtenT:
		return unit + " since 1970 in a string"
	case f.detail < writtenSpace:
		return "RFC 3339 in " + unit + zone
	case f.detail < writtenDate:
		return "date and time in " + unit + zone
	case f.detail == writtenDate:
		return "a date"
	case f.detail == writtenHTTP:
		return "an HTTP date"
	}
	return "a date with names"
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
	if s[0] < 'A' || s[0] > 'Z' {
		return time.Time{}, form{}, false
	}
	if t, err := time.Parse("Mon, 02 Jan 2006 15:04:05 GMT", string(s)); err == nil {
		return t, form{class: classTime, detail: writtenHTTP}, true
	}
	for _, layout := range []string{time.RFC1123Z, time.RFC1123, time.RFC850, time.ANSIC, time.UnixDate} {
		if t, err := time.Parse(layout, string(s)); err == nil {
			return t, form{class: classTime, detail: writtenOldText}, true
		}
	}
	return time.Time{}, form{}, false
}

// digitsAt reads the n digits at i; -1 where they are none.
func digitsAt(s []byte, i, n int) int {
	if i+n > len(s) {
		return -1
	}
	v := 0
	for _, c := range s[i : i+n] {
		if c < '0' || c > '9' {
			return -1
		}
		v = 10*v + int(c-'0')
	}
	return v
}

// isoTime reads a date, and a date with a time, as ISO 8601 and RFC 3339 have them.
func isoTime(s []byte) (t time.Time, f form, ok bool) {
	year, month, day := digitsAt(s, 0, 4), digitsAt(s, 5, 2), digitsAt(s, 8, 2)
	if year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || s[4] != '-' || s[7] != '-' {
		return t, f, false
	}
	f.class = classTime
	if len(s) == 10 {
		f.detail, f.zone = writtenDate, zoneNone
		return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC), f, true
	}
	hour, minute, second := digitsAt(s, 11, 2), digitsAt(s, 14, 2), digitsAt(s, 17, 2)
	if len(s) < 19 || hour < 0 || hour > 24 || minute < 0 || minute > 59 || second < 0 || second > 60 || s[13] != ':' || s[16] != ':' {
		return t, f, false
	}
	switch s[10] {
	case 'T', 't':
		f.detail = writtenT
	case ' ':
		f.detail = writtenSpace
	default:
		return t, f, false
	}
	nanos, i := 0, 19
	if i < len(s) && (s[i] == '.' || s[i] == ',') {
		end := jsondoc.SkipDigits(s, i+1)
		n := end - i - 1
		if n == 0 || n > 9 {
			return t, f, false
		}
		nanos = digitsAt(s, i+1, n)
		for range 9 - n {
			nanos *= 10
		}
		f.detail += uint8((n + 2) / 3)
		i = end
	}
	zone, ok := zoneOf(s[i:])
	if !ok {
		return t, f, false
	}
	f.zone = zone
	t = time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC)
	if zone != zoneUTC && zone != zoneNone {
		t = t.Add(-time.Duration(zone) * time.Minute)
	}
	return t, f, true
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

// zoneOf reads what follows the time.
func zoneOf(s []byte) (int16, bool) {
	switch string(s) {
	case "":
		return zoneNone, true
	case "Z", "z", " UTC", " Z":
		return zoneUTC, true
	}
	if len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	if len(s) < 3 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, minutes := digitsAt(s, 1, 2), 0
	switch {
	case len(s) == 5:
		minutes = digitsAt(s, 3, 2)
	case len(s) == 6 && s[3] == ':':
		minutes = digitsAt(s, 4, 2)
	case len(s) != 3:
		return 0, false
	}
	if hours < 0 || hours > 23 || minutes < 0 || minutes > 59 {
		return 0, false
	}
	z := int16(60*hours + minutes)
	if s[0] == '-' {
		z = -z
	}
	return z, true
}

// Date reads a date in any of the forms that are met, as RFC 6265, section
// 5.1.1, has it: the first time, day, month and year, in whatever order.
func Date(s string) (time.Time, bool) {
	var clock, day, month, year string
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return r != ':' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		digits := word[:len(word)-len(strings.TrimLeft(word, "0123456789"))]
		switch at := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(word[:min(3, len(word))])); {
		case clock == "" && strings.Count(word, ":") == 2:
			clock = strings.TrimRight(word, "APMapm")
		case day == "" && (len(digits) == 1 || len(digits) == 2):
			day = digits
		case month == "" && len(word) >= 3 && at >= 0 && at%3 == 0:
			month = word[:3]
		case year == "" && (len(digits) == 2 || len(digits) == 4):
			year = digits
		}
	}
	switch {
	case clock == "" || day == "" || month == "" || year == "":
		return time.Time{}, false
	case len(year) == 2 && year >= "70":
		year = "19" + year
	case len(year) == 2:
		year = "20" + year
	}
	at, err := time.Parse("2 Jan 2006 15:4:5", day+" "+month+" "+year+" "+clock)
	return at, err == nil
}

// durationUnits are the names of units of time, in seconds.
var durationUnits = func() map[string]float64 {
	units := map[string]float64{}
	for names, seconds := range map[string]float64{
		"ns": 1e-9, "us µs μs": 1e-6, "ms": 1e-3, "s sec secs second seconds": 1, "m min mins minute minutes": 60,
		"h hr hrs hour hours": 3600, "d day days": 86400, "w week weeks": 7 * 86400,
	} {
		for _, name := range strings.Fields(names) {
			units[name] = seconds
		}
	}
	return units
}()

// durationOf reads a length of time, such as 1h5m, 3 minutes ago or PT14M30S, in seconds. Of
// two servers, each says how long it has been running, so another length of the text is no
// fault. ok is false where it is none.
func durationOf(s []byte) (seconds float64, ok bool) {
	if len(s) == 0 || len(s) > 40 {
		return 0, false
	}
	s = bytes.TrimSuffix(bytes.ToLower(s), []byte(" ago"))
	s = bytes.TrimPrefix(bytes.TrimPrefix(bytes.TrimPrefix(s, []byte("in ")), []byte("p")), []byte("t"))
	units := 0
	for len(s) > 0 {
		rest := bytes.TrimLeft(s, "0123456789.")
		if len(rest) == len(s) {
			return 0, false
		}
		number := s[:len(s)-len(rest)]
		rest = bytes.TrimLeft(rest, " ")
		unit := rest[:len(rest)-len(bytes.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzµμ"))]
		s = bytes.TrimLeft(rest[len(unit):], " ,")
		if string(unit) == "dt" { // P1DT2H
			unit = unit[:1]
		}
		of, known := durationUnits[string(unit)]
		if !known {
			return 0, false
		}
		x, _ := strconv.ParseFloat(string(number), 64)
		seconds += x * of
		units++
	}
	return seconds, units > 0
}
