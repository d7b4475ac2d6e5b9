package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/units"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/show"
)

func TestMomentsAreRead(t *testing.T) {
	now := time.Now()
	today := time.Date(now.Year(), now.Month(), now.Day(), 12, 30, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2026-03-01T12:00:00Z":      time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		"2026-03-01T12:00:00.5Z":    time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC),
		"2026-03-01T14:00:00+02:00": time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		"2026-03-01 12:00":          time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local),
		"2026-03-01":                time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"12:30":                     today,
		"12:30:05":                  today.Add(5 * time.Second),
	} {
		var m show.Moment
		if err := m.UnmarshalText([]byte(text)); err != nil || !m.Equal(want) {
			t.Errorf("%s is %s, want %s: %v", text, m.Time, want, err)
		}
	}
	var m show.Moment
	if err := m.UnmarshalText([]byte("10m")); err != nil || m.After(time.Now().Add(-10*time.Minute)) || m.Before(now.Add(-10*time.Minute)) {
		t.Errorf("10m is %s: %v", m.Time, err)
	}
	for _, text := range []string{"", "12", "yesterday", "2026-13-01"} {
		if m.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is %s", text, m.Time)
		}
	}
}

func TestStatusesAreChosen(t *testing.T) {
	for _, c := range []struct {
		want   []string
		status int
		takes  bool
	}{
		{nil, 200, true},
		{nil, 0, true},
		{[]string{"404"}, 404, true},
		{[]string{"404"}, 400, false},
		{[]string{"4xx"}, 404, true},
		{[]string{"4xx"}, 504, false},
		{[]string{"40x"}, 404, true},
		{[]string{"40x"}, 414, false},
		{[]string{"5xx", "failed"}, 0, true},
		{[]string{"5xx"}, 0, false},
		{[]string{"failed"}, 500, false},
	} {
		v := show.Choice{Status: c.want}
		if _, err := v.Filter(); err != nil {
			t.Errorf("%v: %v", c.want, err)
		}
		if got := v.Takes(&whittle.Response{Status: c.status}); got != c.takes {
			t.Errorf("%v takes %d: %v", c.want, c.status, got)
		}
	}
	for _, bad := range []string{"", "2", "20", "abc", "0xx", "x00", "2000", "FAILED"} {
		v := show.Choice{Status: []string{bad}}
		if _, err := v.Filter(); whittle.CodeOf(err) != whittle.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestNothingRecordedMovesTheCursor(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本 👍\n\ttab": "plain é 日本 👍\n\ttab",
		"\x1b[2J":             `\u001b[2J`,
		"a\rb\x00":            `a\u000db\u0000`,
		"bad \xff utf8":       `bad \xff utf8`,
		"\u202eright to left": `\u202eright to left`,
	} {
		if got := show.Harmless(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	line := show.RequestLine(&capture.Entry{Request: whittle.Request{Method: "GET", Target: "/a\nb"}})
	if line != "GET /a b" {
		t.Errorf("%q", line)
	}
}

func TestThingsAreCounted(t *testing.T) {
	for got, want := range map[string]string{
		units.Counted(1, "entry"): "1 entry", units.Counted(2, "entry"): "2 entries", units.Counted(0, "segment"): "0 segments",
		units.Size(10): "10 B", units.Size(20 << 10): "20 KiB", units.Size(50 << 20): "50 MiB", units.Size(20 << 30): "20 GiB",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// show --follow prints what is recorded while it looks, and nothing from
// before.
func TestShowFollows(t *testing.T) {
	dir := t.TempDir()
	w, err := journal.Create(dir, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write := func(target string, at time.Time) {
		e := &capture.Entry{At: at, Request: whittle.Request{Method: "GET", Target: target}, Response: whittle.Response{Status: 200}}
		if err := errors.Join(w.Append(e), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	write("/before", time.Now().Add(-time.Minute))

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		v := recordShow{Log: dir, Follow: true}
		done <- v.Run(ctx, cmdline.Streams{Out: in, Err: io.Discard}, &kong.Context{})
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	for i := range defaultShown + 2 {
		write(fmt.Sprintf("/now/%d", i), time.Now().Add(time.Hour))
		if !lines.Scan() || !strings.HasSuffix(lines.Text(), fmt.Sprintf("GET /now/%d", i)) || !strings.HasPrefix(lines.Text(), fmt.Sprintf("  %6d  ", i+2)) {
			t.Fatalf("exchange %d is shown as %q", i, lines.Text())
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
