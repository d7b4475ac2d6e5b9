package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/systems/ingest/deadletter"
	"whittle/systems/ingest/deadlog"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
)

// TestServersWithoutAPlaceForDeadLetters: one whose sink is elsewhere needs no
// disk, and starts without a place for dead letters; any other must have one.
func TestServersWithoutAPlaceForDeadLetters(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sink, dead, logFirst string
		ok                   bool
	}{
		{"kafka", "", "", true},
		{"kafka", filepath.Join(file, "dead"), "", false},
		{"kafka", "", file, false},
		{"embedded", "", "", false},
		{"embedded", noDead, "", true},
	} {
		var log strings.Builder
		v := &serveVerb{LogFirst: c.logFirst}
		v.Sink, v.Data, v.Dead, v.DeadBytes = c.sink, file, c.dead, 64<<20
		s, err := v.openDead(slog.New(slog.NewTextHandler(&log, nil)), prometheus.NewRegistry())
		if (err == nil) != c.ok || s != stream.Stream(nil) {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
		if warned := strings.Contains(log.String(), "what is rejected is not kept"); warned != (c.ok && c.dead == "") {
			t.Errorf("%+v: the log is %q", c, &log)
		}
	}
}

// TestLettersThatMoveAreMetOnce: what a server moves while its letters are walked
// is neither passed over nor handed out twice, and newer letters are not either.
func TestLettersThatMoveAreMetOnce(t *testing.T) {
	dir := t.TempDir()
	log, err := deadlog.Open(dir, deadlog.Options{
		Most: 2 << 20, Log: embedded.Options{MaxRecord: 4 << 10, MaxBatch: 64 << 10, SegmentBytes: 256 << 10, Reserve: -1, ScrubRate: -1},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close(context.Background())
	send := func(source string) {
		l := deadletter.Letter{Path: "/v1/track", Source: source, Body: make([]byte, 1000)}
		for _, r := range log.Append(t.Context(), slices.Repeat([]stream.Record{l.Record()}, 40)) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
	}
	const quiet = 400 // more than a reader holds in memory at once, and no more than a fair share
	for range quiet / 40 {
		send("quiet")
	}
	all, err := (&deadPlace{deadFlags: deadFlags{Dead: dir}}).openLetters()
	if err != nil {
		t.Fatal(err)
	}
	defer closeLetters(all)
	met := map[string]int{}
	err = all[0].walk(t.Context(), func(l *letter) error {
		if met[l.name]++; len(met) == 1 {
			eventually(t, "all of the quiet one's letters have moved", func() bool {
				send("noisy")
				n, err := strconv.Atoi(log.Stats().First.Offset)
				return err == nil && n >= quiet
			})
		}
		return nil
	}, func(e *stream.CorruptError) error { return e })
	if err != nil {
		t.Fatal(err)
	}
	for name, n := range met {
		if at, err := strconv.Atoi(name); err != nil || at >= quiet || n != 1 {
			t.Errorf("the letter %s was met %d times", name, n)
		}
	}
	if len(met) != quiet {
		t.Errorf("%d of %d letters were met", len(met), quiet)
	}
}
