package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/embedded"
	"whittle/systems/ingest/stream/relay"
)

const (
	damageRecords = 120
	damageOld     = 60 // records of the older copy
	damageDone    = 90 // records that who holds a position has had
)

var damageTime = time.Unix(1_700_000_000, 5)

// readerPatience is how long one reader may take for one damaged log.
const readerPatience = 30 * time.Second

// TestDamagedLogs damages logs in all ways that it knows, and holds what reads them to
// one rule: what does not have each record as it was, once, says so. DAMAGES bounds how
// many damages there are (0: all).
func TestDamagedLogs(t *testing.T) {
	t.Parallel()
	top := damageLogs(t)
	random := rand.New(rand.NewPCG(7, 18))
	all := damageAll(t, top, random)
	most := 24
	if s := os.Getenv("DAMAGES"); s != "" {
		most, _ = strconv.Atoi(s)
	}
	if most > 0 && most < len(all) {
		all = sampled(all, most, random)
	}
	c := &campaign{top: top, counts: map[string]map[string]int{}}
	for _, base := range []string{"closed", "killed"} {
		c.prepare(t, base)
	}
	for i := range all {
		c.run(t, &all[i])
	}
	c.attack(t, random, max(0, most))
	for _, reader := range c.readers {
		t.Logf("DAMAGES %-22s %v", reader, c.counts[reader])
	}
}

// sampled keeps so many, and all that only a holder of a position can see.
func sampled(all []damage, most int, random *rand.Rand) []damage {
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var kept, rest []damage
	for _, d := range all {
		if d.unseen || d.name == "healthy" {
			kept = append(kept, d)
		} else {
			rest = append(rest, d)
		}
	}
	return append(kept, rest[:max(0, most-len(kept))]...)
}

// campaign has every reader meet every damage.
type campaign struct {
	top     string
	bases   map[string]*damageBase
	readers []string
	counts  map[string]map[string]int
}

// damageBase is a log, and what holds a position in it.
type damageBase struct {
	want map[string]string // of the log: id and value by offset
	home string            // what is there before each damage: target, state, sink, drain
}

// damagedReader is what reads a log in a folder and goes on from what is in another one. It
// returns what came of it, by offset or in any case by id, and what was said that is no success.
type damagedReader func(t *testing.T, dir, home string) (ids []string, reported string)

func (c *campaign) run(t *testing.T, d *damage) {
	work := filepath.Join(c.top, "work-"+d.base)
	b := c.bases[d.base]
	for _, reader := range []struct {
		name  string
		holds bool
		read  damagedReader
	}{
		{"verify", false, verified},
		{"tail", false, tailed},
		{"replay", false, replayed},
		{"move", false, moved},
		{"replay, held", true, replayed},
		{"move, held", true, moved},
		{"relay, held", true, drained},
	} {
		must(t, os.RemoveAll(work))
		must(t, os.CopyFS(filepath.Join(work, "log"), os.DirFS(filepath.Join(c.top, d.base))))
		must(t, d.do(filepath.Join(work, "log")))
		if reader.holds {
			must(t, os.CopyFS(filepath.Join(work, "home"), os.DirFS(b.home)))
		}
		got, reported := reader.read(t, filepath.Join(work, "log"), filepath.Join(work, "home"))
		harm, lost := harmed(b.want, got)
		c.judge(t, d, reader.name, reader.holds, harm, lost, reported)
	}
}

func (c *campaign) judge(t *testing.T, d *damage, reader string, holds bool, harm, lost int, reported string) {
	if c.counts[reader] == nil {
		c.counts[reader] = map[string]int{}
		c.readers = append(c.readers, reader)
	}
	what := "right"
	switch {
	case harm > 0 && reported != "":
		what = "reported"
	case harm > 0 && d.forgotten && lost == 0:
		what = "sent again, as nothing was remembered"
	case harm > 0 && d.unseen && !holds:
		what = "silent, unseen without a position"
	case harm > 0:
		what = "SILENTLY WRONG"
		t.Errorf("%s, %s: %s: %d records are not there as they were, and it said nothing", d.base, d.name, reader, harm)
	case reported != "":
		what = "reported, no record harmed"
		if d.name == "healthy" {
			t.Errorf("%s, %s: %s: %s", d.base, d.name, reader, reported)
		}
	}
	if strings.Contains(reported, context.DeadlineExceeded.Error()) {
		t.Errorf("%s, %s: %s hangs: %s", d.base, d.name, reader, reported)
	}
	c.counts[reader][what]++
}

// harmed counts the records that are missing, there twice, or another log's, and those
// of them that are missing.
func harmed(want map[string]string, got []string) (n, lost int) {
	times := map[string]int{}
	for _, r := range got {
		times[r]++
	}
	for _, r := range want {
		if times[r] != 1 {
			n++
		}
		if times[r] == 0 {
			lost++
		}
		delete(times, r)
	}
	return n + len(times), lost
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quietly runs a verb, and returns its output and what it said that is no success.
func quietly(t *testing.T, args ...string) (out, reported string) {
	ctx, cancel := context.WithTimeout(t.Context(), readerPatience)
	defer cancel()
	var o, e bytes.Buffer
	status := Run(ctx, append(args, "--env-file", ""), streams{in: strings.NewReader(""), out: &o, err: &e})
	if ctx.Err() != nil {
		return o.String(), ctx.Err().Error() + e.String()
	}
	if status != 0 {
		return o.String(), fmt.Sprintf("status %d: %s", status, &e)
	}
	return o.String(), ""
}

// contents are a log's records as tail reads them.
func contents(t *testing.T, dir string) (records []string, reported string) {
	ctx, cancel := context.WithTimeout(t.Context(), readerPatience)
	defer cancel()
	var o, e bytes.Buffer
	status := Run(ctx, []string{"tail", "--env-file", "", "--data", dir, "--from", "0/0"}, streams{in: strings.NewReader(""), out: &o, err: &e})
	for line := range strings.Lines(o.String()) {
		var r struct {
			ID    string          `json:"id"`
			Value json.RawMessage `json:"value"`
		}
		must(t, json.Unmarshal([]byte(line), &r))
		records = append(records, r.ID+string(r.Value))
	}
	if reported = e.String(); status != 0 {
		reported = fmt.Sprintf("status %d: %s", status, reported)
	}
	if ctx.Err() != nil {
		reported += ctx.Err().Error()
	}
	return records, reported
}

func tailed(t *testing.T, dir, _ string) ([]string, string) { return contents(t, dir) }

func verified(t *testing.T, dir, _ string) ([]string, string) {
	_, reported := quietly(t, "verify", "--data", dir)
	records, _ := contents(t, dir)
	return records, reported
}

func replayed(t *testing.T, dir, home string) ([]string, string) {
	must(t, os.MkdirAll(home, 0o700))
	_, reported := quietly(t, "replay", "--data", dir, "--to-data", filepath.Join(home, "replayed"), "--state", filepath.Join(home, "state.json"))
	records, _ := contents(t, filepath.Join(home, "replayed"))
	return records, reported
}

func moved(t *testing.T, dir, home string) ([]string, string) {
	must(t, os.MkdirAll(home, 0o700))
	_, reported := quietly(t, "move", "--data", dir, "--to-data", filepath.Join(home, "moved"), "--state", filepath.Join(home, "move"))
	records, _ := contents(t, filepath.Join(home, "moved"))
	return records, reported
}

// drained opens the log to write it, as serve --log-first does.
func drained(t *testing.T, dir, home string) ([]string, string) {
	notes := &warnings{}
	log := slog.New(slog.NewTextHandler(notes, &slog.HandlerOptions{Level: slog.LevelWarn}))
	reported := func() string {
		l, err := embedded.Open(dir, embedded.Options{Reserve: -1, ScrubRate: -1, Held: true, Log: log})
		if err != nil {
			return err.Error()
		}
		r, err := openDrain(t, l, home, -1, log)
		if err != nil {
			closeQuietly(l)
			return err.Error()
		}
		ctx, cancel := context.WithTimeout(t.Context(), readerPatience)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			return err.Error()
		}
		return notes.String()
	}()
	records, _ := contents(t, filepath.Join(home, "sink"))
	return records, reported
}

// openDrain drains a log into home, of which the sink takes so many records (below 0: all).
func openDrain(t *testing.T, l stream.Stream, home string, take int, log *slog.Logger) (*relay.Relay, error) {
	sink, err := embedded.Open(filepath.Join(home, "sink"), embedded.Options{Reserve: -1, ScrubRate: -1})
	must(t, err)
	dead, err := embedded.Open(filepath.Join(home, "dead"), embedded.Options{Reserve: -1, ScrubRate: -1})
	must(t, err)
	r, err := relay.Open(l, &bounded{Stream: sink, left: take}, relay.Options{
		Dir: filepath.Join(home, "drain"), Dead: dead, Keep: -1, Log: log,
		Limits: relay.Limits{Batch: 10, Save: 5 * time.Millisecond, IdleTimeout: 100 * time.Millisecond, BackoffMax: 5 * time.Millisecond},
	})
	if err != nil {
		closeQuietly(sink)
		closeQuietly(dead)
	}
	return r, err
}

// bounded takes so many records and then fails.
type bounded struct {
	stream.Stream
	mu   sync.Mutex // guards the following
	left int        // below 0: any number
	full func()     // nil: nobody
}

func (b *bounded) Append(ctx context.Context, records []stream.Record) []stream.Result {
	b.mu.Lock()
	take := len(records)
	if b.left >= 0 {
		take = min(take, b.left)
		b.left -= take
	}
	if take < len(records) && b.full != nil {
		b.full()
	}
	b.mu.Unlock()
	results := b.Stream.Append(ctx, records[:take])
	for range records[take:] {
		results = append(results, stream.Result{Err: whittle.Errorf(whittle.Unavailable, "full")})
	}
	return results
}

// warnings are what a log says; several write it.
type warnings struct {
	mu sync.Mutex // guards the following
	b  bytes.Buffer
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// prepare lets a replay, a move and a relay have damageDone records of an undamaged log.
func (c *campaign) prepare(t *testing.T, base string) {
	t.Helper()
	work := filepath.Join(c.top, "work-"+base)
	dir, home := filepath.Join(work, "log"), filepath.Join(work, "home")
	must(t, os.CopyFS(dir, os.DirFS(filepath.Join(c.top, base))))
	must(t, os.Mkdir(home, 0o700))
	records, reported := contents(t, dir)
	want := map[string]string{}
	for i, r := range records {
		want[fmt.Sprint(i)] = r
	}
	if reported != "" || len(want) != damageRecords {
		t.Fatalf("%d records: %s", len(want), reported)
	}
	for done, n := 0, damageDone/3; done < damageDone; done, n = done+n, damageDone-n {
		if _, reported := quietly(t, "replay", "--data", dir, "--to-data", filepath.Join(home, "replayed"), "--state", filepath.Join(home, "state.json"), "--limit", fmt.Sprint(n)); reported != "" {
			t.Fatal(reported)
		}
		moveSome(t, dir, home, n)
		drainSome(t, dir, home, n, done+n)
		if done == 0 { // for who gets older ones back
			must(t, os.CopyFS(filepath.Join(home, "old", "drain"), os.DirFS(filepath.Join(home, "drain"))))
			must(t, os.CopyFS(filepath.Join(home, "old", "move"), os.DirFS(filepath.Join(home, "move"))))
			must(t, copyFile(filepath.Join(home, "state.json"), filepath.Join(home, "old", "state.json")))
		}
	}
	kept := filepath.Join(c.top, "home-"+base)
	must(t, os.Rename(home, kept))
	if c.bases == nil {
		c.bases = map[string]*damageBase{}
	}
	c.bases[base] = &damageBase{want: want, home: kept}
}

// drainSome drains so many records more, until there are all of them.
func drainSome(t *testing.T, dir, home string, n, all int) {
	t.Helper()
	l, err := embedded.Open(dir, embedded.Options{ReadOnly: true})
	must(t, err)
	r, err := openDrain(t, l, home, n, slog.New(slog.DiscardHandler))
	must(t, err)
	eventually(t, "the sink is full", func() bool { return r.Status().Sent >= uint64(all) })
	now, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, r.Close(now))
}

// moveSome ends a move when the target has so many records more.
func moveSome(t *testing.T, dir, home string, n int) {
	t.Helper()
	from, err := embedded.Open(dir, embedded.Options{ReadOnly: true})
	must(t, err)
	defer closeQuietly(from)
	to, err := embedded.Open(filepath.Join(home, "moved"), embedded.Options{ScrubRate: -1})
	must(t, err)
	defer closeQuietly(to)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source, target := streamFlags{Sink: "embedded", Data: dir}, streamFlags{Sink: "embedded", Data: filepath.Join(home, "moved")}
	_, err = relay.Move(ctx, from, &bounded{Stream: to, left: n, full: cancel}, relay.MoveOptions{
		Dir: filepath.Join(home, "move"), Label: source.describe() + " → " + target.describe(), Limits: relay.Limits{Batch: 10},
	})
	if whittle.CodeOf(err) != whittle.Canceled {
		t.Fatal(err)
	}
}
