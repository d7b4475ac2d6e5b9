package conformance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// record makes a sealed one.
func record(id, key string, value []byte) stream.Record {
	r := stream.Record{
		ID: id, Key: key, Time: time.Unix(1_700_000_000, 123_456_789).UTC(), Value: value,
		Header: []stream.Header{{Name: "Content-Type", Value: "application/json"}},
	}
	r.Seal()
	return r
}

func numbered(key string, n int) stream.Record {
	id := fmt.Sprintf("%s-%d", key, n)
	return record(id, key, []byte("value of "+id))
}

func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// differ says what is not the same in two records, or "".
func differ(got, want *stream.Record) string {
	switch {
	case got.ID != want.ID:
		return fmt.Sprintf("id %q, want %q", got.ID, want.ID)
	case got.Key != want.Key:
		return fmt.Sprintf("key %q, want %q", got.Key, want.Key)
	case !got.Time.Equal(want.Time):
		return fmt.Sprintf("time %v, want %v", got.Time, want.Time)
	case !slices.Equal(got.Header, want.Header):
		return fmt.Sprintf("header %q, want %q", got.Header, want.Header)
	case string(got.Value) != string(want.Value):
		return fmt.Sprintf("a value of %d bytes that is not the one of %d", len(got.Value), len(want.Value))
	case got.Sum != want.Sum || !got.Intact():
		return fmt.Sprintf("sum %08x, want %08x", got.Sum, want.Sum)
	}
	return ""
}

// keep appends records and wants all of them kept.
func keep(t *testing.T, s stream.Stream, records ...stream.Record) []stream.Position {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	results := s.Append(ctx, records)
	if len(results) != len(records) {
		t.Fatalf("%d results of %d records", len(results), len(records))
	}
	at := make([]stream.Position, len(results))
	for i, r := range results {
		if r.Err != nil {
			t.Fatalf("record %d was not kept: %v", i, r.Err)
		}
		if r.Position.Offset == "" {
			t.Fatalf("record %d was kept at no offset: %+v", i, r.Position)
		}
		at[i] = r.Position
	}
	return at
}

// read is what a stream held, by partition in the order of reading.
type read struct {
	mu      sync.Mutex // guards the following
	parts   map[string][]stream.Entry
	missing map[string]bool
}

// readAll reads every partition until each of the ids has come, and to the end
// where the stream reports it. An id that comes twice fails the test.
func readAll(t *testing.T, s stream.Stream, ids ...string) map[string][]stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	parts, err := s.Partitions(ctx)
	if err != nil {
		t.Fatalf("partitions: %v", err)
	}
	all := &read{parts: map[string][]stream.Entry{}, missing: map[string]bool{}}
	for _, id := range ids {
		all.missing[id] = true
	}
	openEnded, done := context.WithCancel(ctx)
	defer done()
	if len(ids) == 0 {
		done()
	}
	var readers sync.WaitGroup
	for _, p := range parts {
		readers.Go(func() {
			ctx := ctx
			if p.Next.Offset == "" {
				ctx = openEnded
			}
			if err := all.partition(ctx, s, p, done); err != nil && (p.Next.Offset != "" || openEnded.Err() == nil) {
				t.Errorf("read %s: %v", p.Name, err)
			}
		})
	}
	readers.Wait()
	seen := map[string]stream.Position{}
	for _, entries := range all.parts {
		for i := range entries {
			if before, twice := seen[entries[i].ID]; twice && entries[i].ID != "" {
				t.Errorf("%q is at %v and at %v", entries[i].ID, before, entries[i].Position)
			}
			seen[entries[i].ID] = entries[i].Position
		}
	}
	if len(all.missing) > 0 {
		t.Fatalf("%d of %d records are not there, such as %q", len(all.missing), len(ids), first(all.missing))
	}
	return all.parts
}

func first(set map[string]bool) string {
	for k := range set {
		return k
	}
	return ""
}

// partition reads one of them up to where it ended when it was listed.
func (all *read) partition(ctx context.Context, s stream.Stream, p stream.Partition, done func()) error {
	if p.Next.Offset != "" && p.First.Offset == p.Next.Offset {
		return nil
	}
	r, err := s.Read(ctx, p.First)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // what is wrong with it, Next has said
	into := make([]stream.Entry, 37)
	for {
		n, err := r.Next(ctx, into)
		if err != nil {
			return err
		}
		all.add(p.Name, into[:n], done)
		if last := into[n-1].Position.Offset; p.Next.Offset != "" && stream.CompareOffsets(stream.NextOffset(last), p.Next.Offset) >= 0 {
			return nil
		}
	}
}

// add copies entries. It calls done when nothing is missing any more.
func (all *read) add(partition string, entries []stream.Entry, done func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, e := range entries {
		e.Value = slices.Clone(e.Value)
		e.Header = slices.Clone(e.Header)
		all.parts[partition] = append(all.parts[partition], e)
		delete(all.missing, e.ID)
	}
	if len(all.missing) == 0 {
		done()
	}
}

// next reads one entry, a copy of it.
func next(t *testing.T, r stream.Reader) stream.Entry {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	into := make([]stream.Entry, 1)
	if n, err := r.Next(ctx, into); n != 1 || err != nil {
		t.Fatalf("next: %d entries, %v", n, err)
	}
	into[0].Value = slices.Clone(into[0].Value)
	return into[0]
}

func reader(t *testing.T, s stream.Stream, from stream.Position) stream.Reader {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	r, err := s.Read(ctx, from)
	if err != nil {
		t.Fatalf("read from %v: %v", from, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close reader: %v", err)
		}
	})
	return r
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
