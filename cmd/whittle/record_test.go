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
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/journal"
	"whittle/record/show"
)

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

// show --follow prints what is recorded while it looks, and nothing from
// before.
func TestShowFollows(t *testing.T) {
	dir := t.TempDir()
	w, err := journal.Create(dir, journal.Options{})
	fatal.If(t, err)
	write := func(target string, at time.Time) {
		e := &capture.Entry{At: at, Request: whittle.Request{Method: "GET", Target: target}, Response: whittle.Response{Status: 200}}
		fatal.If(t, errors.Join(w.Append(e), w.Flush()))
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
	var all strings.Builder // JSON has no bound of lines
	v := recordShow{Log: dir, JSON: "-"}
	if err := v.Run(t.Context(), cmdline.Streams{Out: &all, Err: io.Discard}, &kong.Context{}); err != nil || strings.Count(all.String(), "\n") != defaultShown+3 {
		t.Errorf("%d lines of JSON, %v", strings.Count(all.String(), "\n"), err)
	}
}
