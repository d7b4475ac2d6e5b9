package streamtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/internal/fatal"
	"whittle/systems/ingest/stream"
)

// Suite is what Run needs of an adapter.
type Suite struct {
	// Open gives a new and empty stream, which the suite closes.
	Open func(t *testing.T) stream.Stream
	// Reopen gets a stream that is closed, and opens what it was open on.
	Reopen func(t *testing.T, closed stream.Stream) stream.Stream
	// Read reads it.
	Read Read
	// Scale is how many records the larger tests append, for sinks that are slow (0: 1,000).
	Scale int
}

// timeout bounds each wait, so that a broken adapter fails and does not hang.
const timeout = 60 * time.Second

// Run holds an adapter to the contract of stream.Stream.
func Run(t *testing.T, s Suite) {
	if s.Scale == 0 {
		s.Scale = 1000
	}
	open := s.Open
	s.Open = func(t *testing.T) stream.Stream {
		t.Helper()
		opened := open(t)
		closing(t, opened)
		return opened
	}
	for name, test := range map[string]func(*testing.T){
		"RoundTrip": s.roundTrip, "Bounds": s.bounds, "ManyAtOnce": s.atOnce, "AppendCanceled": s.appendCanceled,
		"Corrupt": s.corrupt, "Reopened": s.reopened,
	} {
		t.Run(name, test)
	}
}

// CloseGivesUp closes a stream while four appends wait for a server that keeps nothing, which
// busy waits for: the close ends with its context, and so do the appends.
func CloseGivesUp(t *testing.T, st stream.Stream, busy func()) {
	t.Helper()
	appended := make(chan []stream.Result)
	for range 4 {
		go func() { appended <- st.Append(t.Context(), []stream.Record{Record("", "k", "v")}) }()
	}
	busy()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := st.Close(ctx); codeOf(err) != whittle.DeadlineExceeded {
		t.Errorf("close: %v", err)
	}
	for range 4 {
		if r := <-appended; r[0].Err == nil {
			t.Error("kept by a server that keeps nothing")
		}
	}
}

func closing(t *testing.T, s stream.Stream) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		fatal.If(t, s.Close(ctx))
	})
}

// again closes a stream, which refuses what comes then, and opens it anew.
func (s *Suite) again(t *testing.T, open stream.Stream) stream.Stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	fatal.If(t, open.Close(ctx))
	for _, r := range open.Append(ctx, []stream.Record{Record("1", "k", "v"), Record("2", "k", "v")}) {
		fatal.Same(t, whittle.CodeOf(r.Err), whittle.Unavailable, "append after close: %v", r.Err)
	}
	if open.Capacity().Err == nil {
		t.Error("there is room after close")
	}
	opened := s.Reopen(t, open)
	closing(t, opened)
	return opened
}

// roundTrip holds that a record comes back as it was, whatever its caller does with its memory
// after Append returned.
func (s *Suite) roundTrip(t *testing.T) {
	st := s.Open(t)
	if st.Durability() == "" || st.Limit() < 64<<10 || len(st.Append(t.Context(), nil)) != 0 {
		t.Errorf("durability %q, limit %d", st.Durability(), st.Limit())
	}
	random := rand.New(rand.NewPCG(7, 7))
	records := []stream.Record{
		Record[[]byte]("empty", "k", nil),
		Record("zeros", "k", make([]byte, 8<<10)),
		Record("", "", "neither id nor key, but known by its value"),
		{ID: "times", Time: time.Unix(-86_400, 1).UTC(), Value: []byte("before 1970, no header")},
		{ID: "headers", Key: "k", Time: time.Unix(0, 0).UTC(), Value: []byte("v"), Header: []stream.Header{
			{Name: "", Value: ""}, {Name: "x", Value: "second of two"}, {Name: "X", Value: "other case"}, {Name: "x", Value: "\x00\r\n\xff"},
		}},
		{ID: strings.Repeat("\xfe", stream.MaxID), Key: strings.Repeat("\x00", stream.MaxKey), Time: time.Unix(0, 1).UTC(), Value: []byte("bounds")},
		{ID: "many", Time: time.Unix(0, 2).UTC(), Value: []byte("headers"), Header: make([]stream.Header, stream.MaxHeaders)},
	}
	for i, size := range []int{1, 2, 3, 100, 511, 512, 513, 1000, 4095, 4096, 4097, 20_000, 50_000} {
		records = append(records, Record(fmt.Sprint("random-", i), fmt.Sprint("user-", i%4), randomBytes(random, size)))
	}
	sent := make([]stream.Record, len(records))
	for i := range records {
		records[i].Seal()
		sent[i] = records[i]
		sent[i].Value, sent[i].Header = bytes.Clone(records[i].Value), slices.Clone(records[i].Header)
	}
	where := Keep(t, st, sent...)
	for i := range sent {
		clear(sent[i].Value)
		clear(sent[i].Header)
	}
	clear(sent)
	if capacity := st.Capacity(); capacity.Err != nil || capacity.Free <= 0 || capacity.Rate < 0 {
		t.Errorf("room: %+v", capacity)
	}
	count := 0
	for _, entries := range s.Read(t, st) {
		for i := range entries {
			e := &entries[i]
			count++
			n := slices.IndexFunc(records, func(r stream.Record) bool { return r.ID == e.ID })
			if n < 0 {
				t.Errorf("%q was never appended", e.ID)
			} else if d := Differ(&e.Record, &records[n]); d != "" || e.Position != where[n] {
				t.Errorf("%q at %v, the result said %v: %s", e.ID, e.Position, where[n], d)
			}
		}
	}
	fatal.Same(t, count, len(records), "records read of those appended")
}

// bounds holds what is refused, and that nothing passes an earlier one of its key that was.
func (s *Suite) bounds(t *testing.T) {
	st := s.Open(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	headers := Record("headers", "d", "v")
	headers.Header = make([]stream.Header, stream.MaxHeaders+1)
	largest := Record("largest", "k", "")
	largest.Value = randomBytes(rand.New(rand.NewPCG(1, 1)), st.Limit()-stream.EncodedLen(&largest))
	largest.Seal()
	records := []stream.Record{
		Record("first", "a", "kept"),
		Record(long(stream.MaxID+1), "b", "v"),
		Record("key", long(stream.MaxKey+1), "v"),
		headers,
		Record("large", "a", make([]byte, st.Limit()+1)),
		Record("behind", "a", "an earlier one of its key was refused"),
		Record("no key", "", "kept"),
		largest,
		Record("larger", "o", append(slices.Clone(largest.Value), make([]byte, 64)...)),
		Record("last", "f", "kept"),
	}
	results := st.Append(t.Context(), records)
	if len(results) != len(records) {
		t.Fatalf("%d results of %d records", len(results), len(records))
	}
	for i, want := range []whittle.Code{
		-1, whittle.Invalid, whittle.Invalid, whittle.Invalid, whittle.Invalid, whittle.Unavailable, -1, -1, whittle.Invalid, -1,
	} {
		fatal.Same(t, codeOf(results[i].Err), want, "record %d: %v", i, results[i].Err)
	}
	var kept []string
	for _, entries := range s.Read(t, st) {
		for _, e := range entries {
			if kept = append(kept, e.ID); e.ID == largest.ID && Differ(&e.Record, &largest) != "" {
				t.Error(Differ(&e.Record, &largest))
			}
		}
	}
	if slices.Sort(kept); fmt.Sprint(kept) != "[first largest last no key]" {
		t.Errorf("there are %q", kept)
	}
}

// atOnce appends from several goroutines, each to keys of its own.
func (s *Suite) atOnce(t *testing.T) {
	st := s.Open(t)
	l := NewLedger(1)
	l.During(t, st, 16, timeout, func() { l.Reach(t, s.Scale) })
	if r := l.Audit(t, s.Read(t, st)); r.Refused+r.Unknown > 0 {
		t.Errorf("%+v", r)
	}
}

func each(n int, do func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// appendCanceled ends contexts before their appends, or while these are under way: each result
// is one or the other, and what was acknowledged is there.
func (s *Suite) appendCanceled(t *testing.T) {
	st := s.Open(t)
	l := NewLedger(2)
	const writers = 4
	each(writers, func(w int) {
		random := rand.New(rand.NewPCG(2, uint64(w)))
		for n := range max(3, s.Scale/100) {
			ctx, cancel := context.WithCancel(t.Context())
			if n == 0 {
				cancel()
			} else {
				go cancel()
			}
			if err := l.Append(ctx, st, l.Batch(n*writers+w, random)); err != nil && !ended(err) {
				t.Error(err)
			}
			cancel()
		}
	})
	fatal.If(t, l.Append(t.Context(), st, l.Batch(-1, rand.New(rand.NewPCG(2, 9)))))
	l.Audit(t, s.Read(t, st))
}

// corrupt appends a record that is not what it was sealed as: it is refused as
// surely not kept, or whoever reads it can tell; what comes behind it is kept.
func (s *Suite) corrupt(t *testing.T) {
	st := s.Open(t)
	bad := Record("bad", "k", "a value")
	bad.Sum ^= 1 << 7
	at := Keep(t, st, Record("before", "k", "v"))
	result := st.Append(t.Context(), []stream.Record{bad})[0]
	Keep(t, st, Record("behind", "k", "v"))
	var read []string
	for _, e := range s.Read(t, st)[at[0].Partition] {
		if e.Intact() {
			read = append(read, e.ID)
		} else if result.Err != nil || e.Position != result.Position {
			t.Errorf("a record that is not intact at %v; its append said %+v", e.Position, result)
		}
	}
	if code := codeOf(result.Err); code != -1 && code != whittle.Invalid && code != whittle.Unavailable {
		t.Errorf("not refused for sure: %v", result.Err)
	}
	fatal.Same(t, fmt.Sprint(read), "[before behind]", "intact")
}

// reopened closes a stream under many appends, and again where nothing happened in between: each
// append is refused or kept, and what was acknowledged is there afterwards.
func (s *Suite) reopened(t *testing.T) {
	st := s.Open(t)
	l := NewLedger(3)
	var reopened stream.Stream
	l.During(t, st, 8, timeout, func() {
		l.Reach(t, 50)
		reopened = s.again(t, st) // the producers still have st
	})
	l.Audit(t, s.Read(t, reopened))
	fatal.If(t, l.Append(t.Context(), reopened, l.Batch(-1, rand.New(rand.NewPCG(4, 4)))))
	l.Audit(t, s.Read(t, s.again(t, s.again(t, reopened))))
}

// Record makes a sealed one.
func Record[V string | []byte](id, key string, value V) stream.Record {
	r := stream.Record{
		ID: id, Key: key, Time: time.Unix(1_700_000_000, 123_456_789).UTC(), Value: []byte(value),
		Header: []stream.Header{{Name: "Content-Type", Value: "application/json"}},
	}
	r.Seal()
	return r
}

func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// Differ says what is not the same in two records, or "".
func Differ(got, want *stream.Record) string {
	if got.ID != want.ID || got.Key != want.Key || !got.Time.Equal(want.Time) || !slices.Equal(got.Header, want.Header) {
		return fmt.Sprintf("%q %q %v %q, want %q %q %v %q", got.ID, got.Key, got.Time, got.Header, want.ID, want.Key, want.Time, want.Header)
	}
	if string(got.Value) != string(want.Value) || got.Sum != want.Sum {
		return fmt.Sprintf("a value of %d bytes that is not the one of %d", len(got.Value), len(want.Value))
	}
	return ""
}

// Keep appends records and wants all of them kept.
func Keep(t testing.TB, s stream.Stream, records ...stream.Record) []stream.Position {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	results := s.Append(ctx, records)
	if len(results) != len(records) {
		t.Fatalf("%d results of %d records", len(results), len(records))
	}
	at := make([]stream.Position, len(results))
	for i, r := range results {
		if at[i] = r.Position; r.Err != nil || r.Position.Offset == "" {
			t.Fatalf("record %d: %+v", i, r)
		}
	}
	return at
}

// codeOf is the code of an error, or -1 of nil.
func codeOf(err error) whittle.Code {
	if err == nil {
		return -1
	}
	return whittle.CodeOf(err)
}

// ended reports whether an error may come of a context that has ended.
func ended(err error) bool {
	c := codeOf(err)
	return c == whittle.Canceled || c == whittle.DeadlineExceeded ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
