package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/natstest"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/streamtest"
)

func code(err error) string {
	if err == nil {
		return "none"
	}
	return whittle.CodeOf(err).String()
}

// TestTooLarge: what of a record is longer as it is encoded counts as it is sent.
func TestTooLarge(t *testing.T) {
	wide := streamtest.Record("", "w", "")
	wide.Header = []stream.Header{{Name: "n", Value: strings.Repeat("%", 30_000)}} // 90,000 as it is encoded
	if got := served(t).Append(t.Context(), []stream.Record{wide}); code(got[0].Err) != "invalid_argument" {
		t.Errorf("a header that is encoded so long: %v", got[0].Err)
	}
}

// A full stream refuses, and lets a small record not pass a large one of its key.
func TestFull(t *testing.T) {
	l := openAt(t, Options{URL: natstest.JetStream(t), Create: &Create{MaxBytes: 200_000}})
	large := strings.Repeat("v", 150_000)
	got := l.Append(t.Context(), []stream.Record{
		streamtest.Record("", "a", large), streamtest.Record("", "b", large), streamtest.Record("", "b", "small"), streamtest.Record("", "c", "small"),
	})
	for i, want := range []string{"none", "resource_exhausted", "unavailable", "none"} {
		fatal.Same(t, code(got[i].Err), want, "record %d: %v", i, got[i].Err)
	}
	if r := l.Capacity(); code(r.Err) != "resource_exhausted" {
		t.Errorf("room of a full stream: %+v", r)
	}
}

func TestCloseGivesUp(t *testing.T) {
	r := startRemote(t)
	l := openAt(t, Options{URL: r.url()})
	r.Kill()
	streamtest.CloseGivesUp(t, l, func() { process.Until(t, "a round began", l.queue.Busy) })
}

func TestForeignMessageIsCorrupt(t *testing.T) {
	l := served(t)
	if _, err := l.js.Publish(t.Context(), l.o.Subject, []byte("not ours")); err != nil {
		t.Fatal(err)
	}
	if r := l.Append(t.Context(), []stream.Record{streamtest.Record("mine", "", "v")}); r[0].Err != nil {
		t.Fatal(r[0].Err)
	}
	all := readAll(t, l)[partition]
	if len(all) != 2 || all[0].Intact() || all[1].ID != "mine" {
		t.Errorf("%+v", all)
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
		"last-of":   {MaxMsgsPerSubject: 1},
		"few":       {MaxMsgs: 10},
		"elsewhere": {SubjectTransform: &jetstream.SubjectTransformConfig{Source: "elsewhere.>", Destination: "other.>"}},
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

// TestALaterChangeIsSeen: a stream that comes to forget what it acknowledged takes nothing
// until it is mended, and one that drops old messages by size says so.
func TestALaterChangeIsSeen(t *testing.T) {
	url := startRemote(t).url()
	l := openAt(t, Options{URL: url})
	fatal.Same(t, l.Forgets(), "", "")
	config := l.stream.CachedInfo().Config
	for _, most := range []int64{10, -1} {
		config.MaxMsgs, config.Discard = most, jetstream.DiscardOld
		if _, err := l.js.UpdateStream(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		process.Until(t, "the change is seen", func() bool { return (l.Capacity().Err != nil) == (most > 0) })
	}
	config.MaxBytes = 1 << 20
	if forgets(config) == "" {
		t.Error("nothing is said of old messages that go beyond a size")
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
		fatal.Same(t, captures(c.pattern, c.subject), c.want, "captures(%q, %q)", c.pattern, c.subject)
	}
}

// The server is killed twice while producers are at work.
func TestServerKilled(t *testing.T) {
	r := startRemote(t)
	l := openAt(t, Options{URL: r.url()})
	book := streamtest.NewLedger(1)
	book.During(t, l, 8, 10*time.Second, func() {
		for range 2 {
			book.Reach(t, 300)
			r.Kill()
			r.start()
		}
		book.Reach(t, 300)
	})
	book.Audit(t, readAll(t, l))
}

// TestConformance holds JetStream to what every stream must do.
func TestConformance(t *testing.T) {
	url := startRemote(t).url()
	n := 0
	streamtest.Run(t, streamtest.Suite{
		Open: func(t *testing.T) stream.Stream {
			n++
			return openAt(t, Options{URL: url, Stream: fmt.Sprint("events", n)})
		},
		Reopen: func(t *testing.T, closed stream.Stream) stream.Stream { return openAt(t, closed.(*Log).o) },
		Read:   readAll,
	})
}

// readAll is what the stream of a Log holds now. What this service did not append is an
// entry that is not intact.
func readAll(t testing.TB, s stream.Stream) map[string][]stream.Entry {
	t.Helper()
	l := s.(*Log)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now, err := l.stream.Info(ctx)
	fatal.If(t, err)
	var all []stream.Entry
	for n := max(1, now.State.FirstSeq); n <= now.State.LastSeq; n++ {
		m, err := l.stream.GetMsg(ctx, n)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			continue
		}
		fatal.If(t, err)
		all = append(all, stream.Entry{Record: fromNATS(m.Header, m.Data), Position: position(n)})
	}
	return map[string][]stream.Entry{partition: all}
}

// fromNATS is toNATS's inverse. The record's Value is the message's.
func fromNATS(header client.Header, value []byte) stream.Record {
	sum, err := strconv.ParseUint(header.Get(headSum), 16, 32)
	nanos, err2 := strconv.ParseInt(header.Get(headTime), 10, 64)
	wrong := errors.Join(err, err2)
	text := func(escaped string) string {
		plain, err := url.QueryUnescape(escaped)
		wrong = errors.Join(wrong, err)
		return plain
	}
	r := stream.Record{ID: text(header.Get(headID)), Key: text(header.Get(headKey)), Time: time.Unix(0, nanos).UTC(), Value: value, Sum: uint32(sum)}
	for _, pair := range header[headPair] {
		name, value, _ := strings.Cut(pair, "=")
		r.Header = append(r.Header, stream.Header{Name: text(name), Value: text(value)})
	}
	if wrong != nil {
		return stream.Record{Sum: 1}
	}
	return r
}
