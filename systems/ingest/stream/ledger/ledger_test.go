package ledger

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// memory is a stream that keeps what it takes and, where the test wants it, lies.
type memory struct {
	stream.Stream // the methods that an audit has no use for

	mu      sync.Mutex // guards the following
	entries []stream.Entry
}

func (m *memory) Append(_ context.Context, records []stream.Record) []stream.Result {
	m.mu.Lock()
	defer m.mu.Unlock()
	results := make([]stream.Result, len(records))
	for i, r := range records {
		results[i].Position = m.at(len(m.entries))
		m.entries = append(m.entries, stream.Entry{Record: r, Position: results[i].Position})
	}
	return results
}

func (m *memory) at(i int) stream.Position {
	return stream.Position{Partition: "0", Offset: strconv.Itoa(i)}
}

// renumber returns the entries the places at which they now stand.
func (m *memory) renumber() {
	for i := range m.entries {
		m.entries[i].Position = m.at(i)
	}
}

func (m *memory) Partitions(context.Context) ([]stream.Partition, error) {
	last := m.entries[len(m.entries)-1].Position.Offset
	return []stream.Partition{{Name: "0", First: m.at(0), Next: stream.Position{Partition: "0", Offset: stream.NextOffset(last)}}}, nil
}

func (m *memory) Read(context.Context, stream.Position) (stream.Reader, error) {
	return &memoryReader{m: m}, nil
}

type memoryReader struct {
	m    *memory
	next int
}

func (r *memoryReader) Next(_ context.Context, into []stream.Entry) (int, error) {
	if r.next >= len(r.m.entries) {
		return 0, whittle.Errorf(whittle.Internal, "read behind the end")
	}
	if e := r.m.entries[r.next]; !e.Intact() {
		r.next++
		return 0, &stream.CorruptError{Position: e.Position, Reason: "flipped"}
	}
	into[0] = r.m.entries[r.next]
	r.next++
	return 1, nil
}

func (r *memoryReader) Close() error { return nil }

// An audit that cannot find a fault proves nothing: each is put in by hand.
func TestAuditFindsFaults(t *testing.T) {
	firstTwoOfAKey := func(m *memory) (int, int) {
		first := map[string]int{}
		for j, e := range m.entries {
			if i, ok := first[e.Key]; ok {
				return i, j
			}
			first[e.Key] = j
		}
		return 0, 0
	}
	for name, c := range map[string]struct {
		lie  func(m *memory)
		want func(r Report) bool
	}{
		"an honest stream": {func(*memory) {}, func(r Report) bool { return r.Err() == nil && r.Read == r.Acknowledged }},
		"one lost": {
			func(m *memory) { m.entries = slices.Delete(m.entries, 5, 6) },
			func(r Report) bool { return r.Missing == 1 },
		},
		"one doubled": {
			func(m *memory) { m.entries = append(m.entries, m.entries[3]); m.renumber() },
			func(r Report) bool { return r.Doubled == 1 && r.Missing == 0 },
		},
		"two exchanged": {
			func(m *memory) {
				i, j := firstTwoOfAKey(m)
				m.entries[i].Record, m.entries[j].Record = m.entries[j].Record, m.entries[i].Record
			},
			func(r Report) bool { return r.Disordered >= 1 && r.Elsewhere == 2 },
		},
		"one bit flipped": {
			func(m *memory) { m.entries[2].Value[0] ^= 1 },
			func(r Report) bool { return r.Strange == 1 && r.Missing == 1 },
		},
		"another's bytes, sealed": {
			func(m *memory) { m.entries[2].Value = m.entries[3].Value; m.entries[2].Seal() },
			func(r Report) bool { return r.Strange == 1 && r.Missing == 1 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := &memory{}
			book := New(1)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				book.Produce(ctx, m, 2, time.Second)
				close(done)
			}()
			for book.Acknowledged() < 100 {
				time.Sleep(time.Millisecond)
			}
			stop()
			<-done
			c.lie(m)
			report, err := book.Audit(t.Context(), m)
			if err != nil || !c.want(report) || name != "an honest stream" && report.Err() == nil {
				t.Errorf("%v, %v", report, err)
			}
		})
	}
}

func TestDecimals(t *testing.T) {
	for _, c := range [][2]string{{"0", "1"}, {"9", "10"}, {"199", "200"}, {"99999999999999999999", "100000000000000000000"}} {
		if stream.NextOffset(c[0]) != c[1] || stream.CompareOffsets(c[0], c[1]) >= 0 || stream.CompareOffsets(c[1], c[0]) < 0 {
			t.Errorf("%s, %s: %s", c[0], c[1], stream.NextOffset(c[0]))
		}
	}
}
