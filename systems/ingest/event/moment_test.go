package event

import (
	"strings"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	for text, want := range map[string]string{
		"2015-12-10T04:08:31.905Z":              "2015-12-10T04:08:31.905Z",
		"2015-12-10t04:08:31z":                  "2015-12-10T04:08:31Z",
		"2015-12-10 04:08:31":                   "2015-12-10T04:08:31Z",
		"2015-12-10":                            "2015-12-10T00:00:00Z",
		"2015-12-10T04:08":                      "2015-12-10T04:08:00Z",
		"2015-12-10T04:08Z":                     "2015-12-10T04:08:00Z",
		"2015-12-10T04:08:31,5+02:30":           "2015-12-10T01:38:31.5Z",
		"2015-12-10T04:08:31-0100":              "2015-12-10T05:08:31Z",
		"2015-12-10T04:08:31+02":                "2015-12-10T02:08:31Z",
		"2024-02-29T00:00:00Z":                  "2024-02-29T00:00:00Z",
		"2015-12-10T04:08:31.1234567899999999Z": "2015-12-10T04:08:31.123456789Z",
	} {
		at, ok := parseTime([]byte(text))
		if !ok || at.Format(time.RFC3339Nano) != want {
			t.Errorf("%s: %s, %v", text, at.Format(time.RFC3339Nano), ok)
		}
	}
	for _, text := range []string{
		"", "now", "1449720511", "2015-13-10", "2015-02-29", "1900-02-29", "2015-12-10T", "2015-12-10T24:00", "2015-12-10T04:60",
		"2015-12-10T04:08:61Z", "2015-12-10T04:08:31.Z", "2015-12-10T04:08:31ZZ", "2015-12-10T04:08:31+2", "2015-12-10T04:08:31+25:00",
		"2015-12-10T04:08:31 UTC", "15-12-10", "2015/12/10", "-015-12-10", "2015-12-10X04:08", "2015-12-10T04:08:31." + strings.Repeat("1", 50) + "Z",
	} {
		if at, ok := parseTime([]byte(text)); ok {
			t.Errorf("%q is taken for %s", text, at)
		}
	}
}

func TestWhenAnEventHappened(t *testing.T) {
	received := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l := Limits{}.orDefault()
	at := func(s string) time.Time {
		v, _ := parseTime([]byte(s))
		return v
	}
	for _, c := range []struct{ name, original, sent, want string }{
		{"nothing is known", "", "", "2026-03-01T12:00:00Z"},
		{"no original", "", "2026-03-01T11:00:00Z", "2026-03-01T12:00:00Z"},
		{"no time of sending", "2026-03-01T11:00:00Z", "", "2026-03-01T11:00:00Z"},
		{"no time of sending, and an absurd original", "0009-01-01", "", "2026-03-01T12:00:00Z"},
		{"no time of sending, and one ahead", "2026-03-03T12:00:00Z", "", "2026-03-01T12:00:00Z"},
		{"a clock that is right", "2026-03-01T11:59:00Z", "2026-03-01T11:59:59Z", "2026-03-01T11:59:01Z"},
		{"a clock at its beginning", "1970-01-01T00:00:00Z", "1970-01-01T00:01:00Z", "2026-03-01T11:59:00Z"},
		{"a clock far ahead", "2090-01-01T00:00:00Z", "2090-01-01T00:01:00Z", "2026-03-01T11:59:00Z"},
		{"kept for a week without a network", "2026-02-22T12:00:00Z", "2026-03-01T12:30:00Z", "2026-02-22T11:30:00Z"},
		{"history, sent today", "2010-01-01T00:00:00Z", "2026-03-01T12:00:00Z", "2010-01-01T00:00:00Z"},
		{"sent before it happened, by a little", "2026-03-01T12:00:01Z", "2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z"},
		{"sent by an absurd clock", "2026-03-01T11:00:00Z", "1970-01-01T00:00:00Z", "2026-03-01T11:00:00Z"},
		{"sent in the year nine thousand", "2026-03-01T11:00:00Z", "9999-12-31T00:00:00Z", "2026-03-01T11:00:00Z"},
		{"the zero of Go", "0001-01-01T00:00:00Z", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"},
		{"both absurd, each its own way", "0005-01-01", "9999-12-31", "2026-03-01T12:00:00Z"},
	} {
		if got := l.happened(received, at(c.original), at(c.sent)); !got.Equal(at(c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got.Format(time.RFC3339), c.want)
		}
	}
}
