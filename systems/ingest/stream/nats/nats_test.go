package nats

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/ledger"
)

func code(err error) string {
	if err == nil {
		return "none"
	}
	return whittle.CodeOf(err).String()
}

// readAll reads what the stream holds now.
func readAll(t *testing.T, s stream.Stream) []stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	parts, err := s.Partitions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if parts[0].First == parts[0].Next {
		return nil
	}
	r, err := s.Read(ctx, parts[0].First)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []stream.Entry
	into := make([]stream.Entry, 64)
	for len(all) == 0 || after(all[len(all)-1].Position) != parts[0].Next.Offset {
		n, err := r.Next(ctx, into)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, into[:n]...)
	}
	return all
}

func after(p stream.Position) string {
	n, err := parse(p)
	if err != nil {
		return ""
	}
	return position(n + 1).Offset
}

func TestKeepsRecords(t *testing.T) {
	streams := map[string]func(t *testing.T) *Log{
		"embedded": embedded,
		"remote":   func(t *testing.T) *Log { return openAt(t, Options{URL: startRemote(t).url()}) },
	}
	for name, open := range streams {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			var want []stream.Record
			for i := range 300 {
				r := sealed(fmt.Sprintf("id/ %d\r\n", i), fmt.Sprintf("user:%d\x00", i%7), strings.Repeat("v", i))
				if i%5 == 0 {
					r.Key, r.ID = "", "the same"
				}
				r.Header = []stream.Header{{Name: "Whittle-Id", Value: "a client's own: =&\r\n"}, {}, {Name: "b"}, {Name: "a"}}
				want = append(want, r)
			}
			where := map[stream.Position]stream.Record{}
			for i, r := range l.Append(t.Context(), want) {
				if r.Err != nil {
					t.Fatal(i, r.Err)
				}
				where[r.Position] = want[i]
			}
			all := readAll(t, l)
			if len(all) != len(want) || len(where) != len(want) {
				t.Fatalf("%d read, %d places, %d appended", len(all), len(where), len(want))
			}
			last := map[string]int{}
			for _, e := range all {
				w := where[e.Position]
				if e.ID != w.ID || e.Key != w.Key || !e.Time.Equal(w.Time) || string(e.Value) != string(w.Value) ||
					e.Sum != w.Sum || fmt.Sprint(e.Header) != fmt.Sprint(w.Header) {
					t.Fatalf("read %+v, appended %+v", e, w)
				}
				if e.Key != "" && len(e.Value) < last[e.Key] {
					t.Fatalf("%q is out of order", e.ID)
				}
				last[e.Key] = len(e.Value)
			}
		})
	}
}

func TestSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	l := openAt(t, Options{Embedded: &Embedded{Dir: dir}})
	appended := l.Append(t.Context(), []stream.Record{sealed("1", "k", "v")})
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := l.Append(t.Context(), []stream.Record{sealed("", "", "v")}); code(r[0].Err) != "unavailable" {
		t.Errorf("after Close: %v", r[0].Err)
	}
	all := readAll(t, openAt(t, Options{Embedded: &Embedded{Dir: dir}}))
	if len(all) != 1 || all[0].Position != appended[0].Position {
		t.Errorf("%+v, appended at %+v", all, appended[0])
	}
}

func TestTooLarge(t *testing.T) {
	l := embedded(t)
	largest := sealed("", "k", "")
	largest.Value = make([]byte, l.Limit()-stream.EncodedLen(&largest))
	largest.Seal()
	over := largest
	over.Value = make([]byte, len(largest.Value)+1)
	over.Seal()
	wide := sealed("", "w", "")
	wide.Header = []stream.Header{{Name: "n", Value: strings.Repeat("%", 30_000)}} // 90,000 as it is encoded
	got := l.Append(t.Context(), []stream.Record{largest, over, sealed("", "k", "behind it"), sealed("", "free", ""), wide})
	for i, want := range []string{"none", "invalid_argument", "unavailable", "none", "invalid_argument"} {
		if code(got[i].Err) != want {
			t.Errorf("record %d: %v, want %v", i, got[i].Err, want)
		}
	}
}

// A full stream refuses, and lets a small record not pass a large one of its key.
func TestFull(t *testing.T) {
	l := openAt(t, Options{Embedded: &Embedded{Dir: t.TempDir()}, Create: &Create{MaxBytes: 200_000}})
	large := strings.Repeat("v", 150_000)
	got := l.Append(t.Context(), []stream.Record{
		sealed("", "a", large), sealed("", "b", large), sealed("", "b", "small"), sealed("", "c", "small"),
	})
	for i, want := range []string{"none", "resource_exhausted", "unavailable", "none"} {
		if code(got[i].Err) != want {
			t.Errorf("record %d: %v, want %v", i, got[i].Err, want)
		}
	}
	if r := l.Capacity(); code(r.Err) != "resource_exhausted" {
		t.Errorf("room of a full stream: %+v", r)
	}
	if err := l.Trim(t.Context(), got[3].Position); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); l.Capacity().Err != nil; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("room after Trim: %+v", l.Capacity())
		}
	}
	if all := readAll(t, l); len(all) != 1 || all[0].Position != got[3].Position {
		t.Errorf("kept after Trim: %v", all)
	}
	if err := l.Trim(t.Context(), position(99)); code(err) != "invalid_argument" {
		t.Errorf("trim behind the end: %v", err)
	}
}

// Close gives up when its context ends, and so do the appends that it waited for.
func TestCloseGivesUp(t *testing.T) {
	r := startRemote(t)
	l := openAt(t, Options{URL: r.url()})
	r.kill()
	appended := make(chan []stream.Result)
	for range 4 {
		go func() { appended <- l.Append(t.Context(), []stream.Record{sealed("", "k", "v")}) }()
	}
	for deadline := time.Now().Add(10 * time.Second); !l.queue.Busy(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no round began")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Close(ctx); code(err) != "deadline_exceeded" {
		t.Error(err)
	}
	for range 4 {
		if r := <-appended; r[0].Err == nil {
			t.Error("kept by a server that is gone")
		}
	}
}

func TestBufferFull(t *testing.T) {
	l := openAt(t, Options{Embedded: &Embedded{Dir: t.TempDir()}, Buffer: 1000})
	l.sink.Buffer.Reserve(900)
	if r := l.Append(t.Context(), []stream.Record{sealed("", "", strings.Repeat("v", 200))}); code(r[0].Err) != "resource_exhausted" {
		t.Error(r[0].Err)
	}
}

func TestForeignMessageIsCorrupt(t *testing.T) {
	l := embedded(t)
	if _, err := l.js.Publish(t.Context(), l.o.Subject, []byte("not ours")); err != nil {
		t.Fatal(err)
	}
	if r := l.Append(t.Context(), []stream.Record{sealed("mine", "", "v")}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	r, err := l.Read(t.Context(), stream.Position{Partition: "0"})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	into := make([]stream.Entry, 8)
	_, err = r.Next(t.Context(), into)
	if c, ok := errors.AsType[*stream.CorruptError](err); !ok || c.Position != position(1) {
		t.Fatal(err)
	}
	if n, err := r.Next(t.Context(), into); n != 1 || err != nil || into[0].ID != "mine" {
		t.Fatal(n, err, into[0].ID)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := r.Next(ctx, into); code(err) != "deadline_exceeded" {
		t.Error(err)
	}
	if _, err := l.Read(t.Context(), position(99)); code(err) != "failed_precondition" {
		t.Errorf("read behind the end: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	url := startRemote(t).url()
	first := openAt(t, Options{URL: url})
	for name, config := range map[string]jetstream.StreamConfig{
		"memory":    {Storage: jetstream.MemoryStorage},
		"queue":     {Retention: jetstream.WorkQueuePolicy},
		"forgetful": {Duplicates: time.Second},
		"no-ack":    {NoAck: true},
	} {
		config.Name, config.Subjects = name, []string{name + ".>"}
		if _, err := first.js.CreateStream(t.Context(), config); err != nil {
			t.Fatal(name, err)
		}
		if _, err := Open(t.Context(), Options{URL: url, Stream: name}); code(err) != "failed_precondition" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, o := range map[string]Options{
		"not_found":           {URL: url, Stream: "nowhere"},
		"failed_precondition": {URL: url, Stream: "events", Subject: "elsewhere"},
		"invalid_argument":    {Stream: "events"},
		"unavailable":         {URL: "nats://127.0.0.1:1", Stream: "events"},
	} {
		if _, err := Open(t.Context(), o); code(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestEmbeddedFolder(t *testing.T) {
	if _, err := Open(t.Context(), Options{Embedded: &Embedded{Dir: filepath.Join(os.DevNull, "x")}, Stream: "events"}); code(err) != "invalid_argument" {
		t.Errorf("a folder that cannot be: %v", err)
	}
	l := embedded(t)
	if _, err := Open(t.Context(), Options{Embedded: l.o.Embedded, Stream: "events"}); code(err) != "failed_precondition" {
		t.Errorf("a folder in use: %v", err)
	}
}

func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true},
		{"a.*", "a.b", true},
		{"a.>", "a.b.c", true},
		{">", "a", true},
		{"a", "a.b", false},
		{"a.*", "a.b.c", false},
		{"a.>", "a", false},
		{"a.b.c", "a.b", false},
	} {
		if got := captures(c.pattern, c.subject); got != c.want {
			t.Errorf("captures(%q, %q) = %v", c.pattern, c.subject, got)
		}
	}
}

// The server is killed twice while producers are at work.
func TestServerKilled(t *testing.T) {
	r := startRemote(t)
	l := openAt(t, Options{URL: r.url()})
	book := ledger.New(1)
	ctx, stop := context.WithCancel(t.Context())
	produced := make(chan struct{})
	go func() {
		book.Produce(ctx, l, 8, 10*time.Second)
		close(produced)
	}()
	defer func() { stop(); <-produced }()
	reach := func(n int) {
		t.Helper()
		deadline := time.Now().Add(time.Minute)
		for want := book.Acknowledged() + n; book.Acknowledged() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d acknowledged, %d refused, %d unknown: no progress", book.Acknowledged(), book.Refused(), book.Unknown())
			}
		}
	}
	for range 2 {
		reach(500)
		r.kill()
		r.start()
	}
	reach(500)
	stop()
	<-produced
	report, err := book.Audit(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(report)
	if err := report.Err(); err != nil {
		t.Error(err)
	}
}
