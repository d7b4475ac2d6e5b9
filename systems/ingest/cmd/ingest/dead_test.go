package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
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
			if source == "noisy" && whittle.CodeOf(r.Err) == whittle.ResourceExhausted {
				return // it comes faster than its letters are dropped: later
			}
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

// TestNotesOfNewerLettersStay: a letter that came behind the walk is not taken for one
// that is gone, so what another process noted of it meanwhile is kept.
func TestNotesOfNewerLettersStay(t *testing.T) {
	p := letters{there: map[uint64]bool{3: true}, end: 10}
	for at, want := range map[uint64]bool{3: true, 4: false, 9: false, 10: true, 11: true} {
		if p.mayBeThere(at) != want {
			t.Errorf("%d: %v", at, !want)
		}
	}
}

// TestOneVerbChangesLetters: while one sends letters or removes them another sends none,
// and may still list them.
func TestOneVerbChangesLetters(t *testing.T) {
	dir := t.TempDir()
	log, err := deadlog.Open(dir, deadlog.Options{Log: embedded.Options{Reserve: -1, ScrubRate: -1}})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close(context.Background())
	l := deadletter.Letter{Path: "/v1/track", Body: []byte("{")}
	if r := log.Append(t.Context(), []stream.Record{l.Record()}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	first := &deadPlace{deadFlags: deadFlags{Dead: dir}, changing: true}
	all, err := first.openLetters()
	if err != nil {
		t.Fatal(err)
	}
	var sent atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { sent.Add(1) }))
	defer server.Close()
	run := func(args ...string) int {
		return Run(t.Context(), append([]string{"dead"}, append(args, "--env-file", "", "--dead", dir)...), streams{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	}
	for _, c := range []struct {
		args   []string
		status int
	}{{[]string{"retry", "--url", server.URL}, 1}, {[]string{"rm", "0"}, 1}, {[]string{"ls"}, 0}} {
		if got := run(c.args...); got != c.status {
			t.Errorf("%q ends with %d", c.args, got)
		}
	}
	closeLetters(all)
	if n := sent.Load(); n > 0 {
		t.Errorf("%d letters were sent", n)
	}
	if got := run("retry", "--url", server.URL); got != 0 || sent.Load() != 1 {
		t.Errorf("afterwards it ends with %d, and has sent %d", got, sent.Load())
	}
}

// TestNotesOfALogThatIsGone hide no letter of the one in its place; and one that came by a
// clock that was ahead is off the list once it is removed.
func TestNotesOfALogThatIsGone(t *testing.T) {
	dir := t.TempDir()
	list := func() string {
		out, failure := quietly(t, "dead", "ls", "--dead", dir)
		if failure != "" {
			t.Fatal(failure)
		}
		return out
	}
	for _, ahead := range []time.Duration{0, time.Hour, 2 * time.Hour} {
		log, err := deadlog.Open(dir, deadlog.Options{Log: embedded.Options{Reserve: -1, ScrubRate: -1}})
		if err != nil {
			t.Fatal(err)
		}
		l := deadletter.Letter{Path: "/v1/track", Body: []byte("{"), Time: time.Now().Add(ahead)}
		if r := log.Append(t.Context(), []stream.Record{l.Record()}); r[0].Err != nil || r[0].Position.Offset != "0" {
			t.Fatal(r[0])
		}
		if err := log.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if out := list(); !strings.Contains(out, "1 dead letters, 1 shown") {
			t.Errorf("%v ahead: %s", ahead, out)
		}
		if _, failure := quietly(t, "dead", "rm", "0", "--reason", "a test", "--dead", dir); failure != "" {
			t.Fatal(failure)
		}
		if out := list(); !strings.Contains(out, "0 dead letters") {
			t.Errorf("%v ahead, removed: %s", ahead, out)
		}
		must(t, removeAll(dir, append(segmentFiles(dir), "END")...))
	}
}
