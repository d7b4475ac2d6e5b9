// Package show selects recorded exchanges, and writes them and listings of logs for a
// terminal and as JSON.
package show

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/units"
	"whittle/record/capture"
	"whittle/record/journal"
)

// Moment is a time on the command line.
type Moment struct{ time.Time }

// UnmarshalText reads a time, a time of today, or how long ago it was.
func (m *Moment) UnmarshalText(b []byte) (err error) {
	m.Time, err = moment(string(b), time.Now())
	return err
}

// moment reads what UnmarshalText does, as it is meant now.
func moment(s string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(s); err == nil {
		return now.Add(-ago.Abs()), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.Local), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write 2026-03-01T12:00:00Z, '2026-03-01 12:00', 12:00 (today), or 10m (ago)", s)
}

// Choice says which of a log's exchanges are meant.
type Choice struct {
	Route  string   `group:"Which exchanges" placeholder:"ROUTE" help:"Only those of this route, or of this target, as record ls prints them."`
	Status []string `group:"Which exchanges" placeholder:"STATUS" help:"Only responses with this status: 404, 5xx, or failed. Repeatable."`
	From   Moment   `group:"Which exchanges" placeholder:"TIME" help:"Only those from then on: 2026-03-01T12:00:00Z, '2026-03-01 12:00', 12:00 (today), 10m (ago)."`
	To     Moment   `group:"Which exchanges" placeholder:"TIME" help:"Only those before then."`
}

// Filter is what a journal can choose by itself. It fails where a status is none.
func (c *Choice) Filter() (journal.Filter, error) {
	f := journal.Filter{Route: c.Route, From: c.From.Time, To: c.To.Time}
	for _, s := range c.Status {
		if !isStatus(s) {
			return f, whittle.Errorf(whittle.Invalid, "--status %q is not a status", s).WithHint("write 404, 5xx or failed")
		}
	}
	return f, nil
}

func isStatus(s string) bool {
	if s == "failed" {
		return true
	}
	return len(s) == 3 && s[0] >= '1' && (s[0] <= '5' || !strings.Contains(s, "x") && s[0] <= '9') && strings.Trim(s[1:], "0123456789x") == ""
}

// Takes says whether a response has one of the statuses that are asked for.
func (c *Choice) Takes(a *whittle.Response) bool {
	if len(c.Status) == 0 {
		return true
	}
	has := fmt.Sprint(a.Status)
	for _, want := range c.Status {
		if want == "failed" {
			if a.Status == 0 {
				return true
			}
			continue
		}
		if a.Status != 0 && (want == has || want[1:] == "xx" && want[0] == has[0] || want[2] == 'x' && want[:2] == has[:2]) {
			return true
		}
	}
	return false
}

// SayDamages prints what of a log could not be read.
func SayDamages(screen *cmdline.Screen, damages []journal.Damage) {
	const most = 20
	for i, d := range damages {
		if i == most {
			screen.Say("… and %d more", len(damages)-most)
			return
		}
		screen.Say("damaged: %s, %s at byte %d: %s", d.Segment, units.Size(d.Bytes), d.Offset, d.Why)
	}
}

// outcome is a response's status, or the failure in its place.
func outcome(a *whittle.Response) string {
	if a.Failure != whittle.NoFailure {
		return string(a.Failure)
	}
	return fmt.Sprint(a.Status)
}

// Harmless is a recorded text with what would move a terminal's cursor, or
// worse, written out.
func Harmless(s string) string {
	if strings.IndexFunc(s, unsafeRune) < 0 && utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for i, c := range s {
		if c == utf8.RuneError && !strings.HasPrefix(s[i:], "\uFFFD") {
			fmt.Fprintf(&out, `\x%02x`, s[i])
		} else if unsafeRune(c) {
			fmt.Fprintf(&out, `\u%04x`, c)
		} else {
			out.WriteRune(c)
		}
	}
	return out.String()
}

func unsafeRune(c rune) bool { return !unicode.IsPrint(c) && c != '\n' && c != '\t' }

// RequestLine names an exchange in one line.
func RequestLine(e *capture.Entry) string {
	return Harmless(strings.ReplaceAll(e.Request.Method+" "+e.Request.Target, "\n", " "))
}
