package dedup_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"whittle/internal/fatal"
	"whittle/systems/ingest/dedup"
	"whittle/systems/ingest/stream"
)

// log is one that was written, the first record of which has the offset of first.
type log struct {
	first   uint64
	records []stream.Record
	// corrupt is the offset of a record that cannot be read, 0 for none.
	corrupt uint64
	read    int
	end     error // of a walk
}

func (l *log) Bounds() (first, next uint64, err error) {
	return l.first, l.first + uint64(len(l.records)), nil
}

func (l *log) Walk(_ context.Context, from uint64, visit func(*stream.Entry) error, corrupt func(*stream.CorruptError) error) error {
	for i := from; i < l.first+uint64(len(l.records)); i++ {
		p := stream.Position{Partition: "0", Offset: fmt.Sprint(i)}
		l.read++
		var err error
		if i == l.corrupt && i > 0 {
			err = corrupt(&stream.CorruptError{Position: p, Reason: "a flipped bit"})
		} else {
			err = visit(&stream.Entry{Record: l.records[i-l.first], Position: p})
		}
		if err != nil {
			return err
		}
	}
	return l.end
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
	l := &log{first: 100, corrupt: 130, records: written(100, 50, "0")}
	l.records[40].ID = ""
	w := dedup.New(dedup.Options{Entries: 25, Age: time.Minute})
	n, err := w.Rebuild(t.Context(), l, tenant, start.Add(49*time.Second))
	fatal.If(t, err)
	// Of the newest 25 one is corrupt, and one has no id.
	if n != 23 || w.Len() != 23 || l.read > 33 || w.Corrupt() != 1 {
		t.Errorf("%d learned, %d known, %d read, %d corrupt", n, w.Len(), l.read, w.Corrupt())
	}
	for i := 125; i < 150; i++ {
		want := dedup.Claim{State: dedup.Duplicate, Position: at(i)}
		if i == 130 || i == 140 {
			want = dedup.Claim{}
		}
		if c := claim(w, dedup.Hash("t", fmt.Sprintf("0-%d", i)), start.Add(49*time.Second)); c != want {
			t.Errorf("%d: %+v", i, c)
		}
	}
}

// TestRebuildOfWrongClocks: what a clock that was wrong has stamped is known for as
// long as what came before it, and makes nothing else forgotten.
func TestRebuildOfWrongClocks(t *testing.T) {
	const year = 365 * 24 * time.Hour
	all := written(0, 6, "0")
	all[2].Time = all[2].Time.Add(year)
	all[3].Time = all[3].Time.Add(-year)
	l := &log{records: all}
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

func TestRebuildFails(t *testing.T) {
	l := &log{records: written(0, 3, "0"), end: io.ErrUnexpectedEOF}
	if n, err := dedup.New(dedup.Options{}).Rebuild(t.Context(), l, tenant, start); n != 3 || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a log that breaks off: %d learned, %v", n, err)
	}
}
