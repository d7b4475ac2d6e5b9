package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/stream"
)

// log is a stream that was written: each partition's records, the first of
// which has the offset of first.
type log struct {
	stream.Stream
	first      int
	partitions [][]stream.Record
	// corrupt is the offset of a record that cannot be read, −1 for none.
	corrupt int
	read    int
}

func (l *log) Partitions(context.Context) ([]stream.Partition, error) {
	var all []stream.Partition
	for i, records := range l.partitions {
		name := strconv.Itoa(i)
		all = append(all, stream.Partition{
			Name:  name,
			First: stream.Position{Partition: name, Offset: strconv.Itoa(l.first)},
			Next:  stream.Position{Partition: name, Offset: strconv.Itoa(l.first + len(records))},
		})
	}
	return all, nil
}

func (l *log) Read(_ context.Context, from stream.Position) (stream.Reader, error) {
	partition, _ := strconv.Atoi(from.Partition)
	offset, err := strconv.Atoi(from.Offset)
	return &reader{log: l, partition: partition, next: max(offset, l.first)}, err
}

type reader struct {
	log             *log
	partition, next int
}

func (r *reader) Close() error { return nil }

func (r *reader) Next(_ context.Context, into []stream.Entry) (n int, err error) {
	records := r.log.partitions[r.partition]
	for ; n < min(len(into), 3) && r.next-r.log.first < len(records); n++ {
		p := stream.Position{Partition: strconv.Itoa(r.partition), Offset: strconv.Itoa(r.next)}
		if r.next++; r.next-1 == r.log.corrupt {
			return n, &stream.CorruptError{Position: p, Reason: "a flipped bit"}
		}
		into[n] = stream.Entry{Record: records[r.next-1-r.log.first], Position: p}
		r.log.read++
	}
	if n == 0 {
		return 0, io.ErrUnexpectedEOF // a real one would wait for ever
	}
	return n, nil
}

func tenant(r *stream.Record) string { return r.Key }

func written(from, n int, partition string) []stream.Record {
	records := make([]stream.Record, n)
	for i := range records {
		records[i] = stream.Record{ID: fmt.Sprintf("%s-%d", partition, from+i), Key: "t", Time: start.Add(time.Duration(i) * time.Second)}
	}
	return records
}

func TestRebuild(t *testing.T) {
	l := &log{first: 100, corrupt: 130, partitions: [][]stream.Record{written(100, 50, "0"), written(100, 8, "1"), nil}}
	l.partitions[1][2].ID = ""
	w := dedup.New(dedup.Options{Entries: 75, Age: 35 * time.Second})
	n, err := w.Rebuild(t.Context(), l, tenant, start.Add(49*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	// Of partition 0 the newest 25 of 75/3, one of which is corrupt; partition
	// 1's are all too old.
	if n != 24 || w.Len() != 24 || l.read > 33 || w.Corrupt() != 1 {
		t.Errorf("%d learned, %d known, %d read, %d corrupt", n, w.Len(), l.read, w.Corrupt())
	}
	for i := 125; i < 150; i++ {
		want := dedup.Claim{State: dedup.Duplicate, Position: at(i)}
		if i == 130 {
			want = dedup.Claim{}
		}
		if c := claim(w, dedup.Hash("t", fmt.Sprintf("0-%d", i)), start.Add(49*time.Second)); c != want {
			t.Errorf("%d: %+v", i, c)
		}
	}
	l.corrupt = 149 // the very last
	if n, err := dedup.New(dedup.Options{}).Rebuild(t.Context(), l, tenant, start); n != 56 || err != nil {
		t.Errorf("%d learned, %v", n, err)
	}
}

// TestRebuildOfWrongClocks: what a clock that was wrong has stamped is known for as
// long as what came before it, and makes nothing else forgotten.
func TestRebuildOfWrongClocks(t *testing.T) {
	const year = 365 * 24 * time.Hour
	all := written(0, 6, "0")
	all[2].Time = all[2].Time.Add(year)
	all[3].Time = all[3].Time.Add(-year)
	l := &log{partitions: [][]stream.Record{all}, corrupt: -1}
	w := dedup.New(dedup.Options{Age: time.Hour})
	now := start.Add(time.Minute)
	if n, err := w.Rebuild(t.Context(), l, tenant, now); n != len(all) || err != nil {
		t.Errorf("%d learned, %v", n, err)
	}
	for i := range all {
		id := dedup.Hash("t", fmt.Sprintf("0-%d", i))
		if c := claim(w, id, now.Add(time.Hour-62*time.Second)); c.State != dedup.Duplicate {
			t.Errorf("%d: %+v", i, c)
		}
		if c := claim(w, id, now.Add(2*time.Hour)); c.State != dedup.First {
			t.Errorf("%d, two hours later: %+v", i, c)
		}
	}
}

// TestRebuildByAWrongClock: whatever the clock is at the start, what was known is.
func TestRebuildByAWrongClock(t *testing.T) {
	for name, now := range map[string]time.Time{
		"right": start.Add(time.Minute), "a year ahead": start.AddDate(1, 0, 0), "a year behind": start.AddDate(-1, 0, 0),
	} {
		l := &log{partitions: [][]stream.Record{written(0, 30, "0"), written(0, 30, "1")}, corrupt: -1}
		w := dedup.New(dedup.Options{Age: time.Minute})
		if n, err := w.Rebuild(t.Context(), l, tenant, now); n != 60 || err != nil {
			t.Errorf("%s: %d learned, %v", name, n, err)
		}
		for i := range 30 {
			id := dedup.Hash("t", fmt.Sprintf("1-%d", i))
			if c := claim(w, id, now.Add(30*time.Second)); c.State != dedup.Duplicate {
				t.Errorf("%s: %d: %+v", name, i, c)
			}
			if c := claim(w, id, now.Add(62*time.Second)); c.State != dedup.First {
				t.Errorf("%s: %d, a minute later: %+v", name, i, c)
			}
		}
	}
}

func TestRebuildOfAnEmptyLog(t *testing.T) {
	l := &log{partitions: [][]stream.Record{nil}, corrupt: -1}
	if n, err := dedup.New(dedup.Options{}).Rebuild(t.Context(), l, tenant, start); n != 0 || err != nil {
		t.Errorf("%d learned, %v", n, err)
	}
}

type shards struct{ log }

func (s *shards) Partitions(ctx context.Context) ([]stream.Partition, error) {
	all, err := s.log.Partitions(ctx)
	all[0].Next.Offset = ""
	return all, err
}

func TestRebuildFails(t *testing.T) {
	l := log{partitions: [][]stream.Record{written(0, 3, "0")}, corrupt: -1}
	if _, err := dedup.New(dedup.Options{}).Rebuild(t.Context(), &shards{l}, tenant, start); whittle.CodeOf(err) != whittle.Unsupported {
		t.Errorf("offsets that do not count: %v", err)
	}
	short := &cut{l}
	if n, err := dedup.New(dedup.Options{}).Rebuild(t.Context(), short, tenant, start); n != 3 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a log that breaks off: %d learned, %v", n, err)
	}
}

// cut says that it has more than it gives.
type cut struct{ log }

func (c *cut) Partitions(ctx context.Context) ([]stream.Partition, error) {
	all, err := c.log.Partitions(ctx)
	all = slices.Clone(all)
	all[0].Next.Offset = "9"
	return all, err
}
