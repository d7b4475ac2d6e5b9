package stream

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
)

// growing is a stream with one partition, to which a record comes every so often.
type growing struct {
	Stream
	begun time.Time
	there int           // records that were there at first
	every time.Duration // 0: none comes
	next  string        // what it reports as its end
}

func (s *growing) Partitions(context.Context) ([]Partition, error) {
	return []Partition{{Name: "0", First: Position{Partition: "0"}, Next: Position{Partition: "0", Offset: s.next}}}, nil
}

func (s *growing) Read(_ context.Context, from Position) (Reader, error) {
	at, _ := strconv.Atoi(from.Offset)
	return &grownReader{s: s, at: at}, nil
}

type grownReader struct {
	s  *growing
	at int
}

func (r *grownReader) Next(ctx context.Context, into []Entry) (int, error) {
	came := r.s.begun.Add(time.Duration(r.at-r.s.there+1) * r.s.every)
	if r.at < r.s.there {
		came = r.s.begun
	} else if r.s.every == 0 {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	select {
	case <-time.After(time.Until(came)):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	into[0] = Entry{Record: Record{Time: came}, Position: Position{Partition: "0", Offset: strconv.Itoa(r.at)}}
	r.at++
	return 1, nil
}

func (r *grownReader) Close() error { return nil }

// TestAWalkEnds where the partition ended when it began, although no record lies right
// before that end (another subject's message, a marker), and although one that does
// not report its end goes on growing.
func TestAWalkEnds(t *testing.T) {
	for name, c := range map[string]struct {
		growing
		least, most int
	}{
		"a record before its end":           {growing{there: 300, next: "300"}, 300, 300},
		"no record right before its end":    {growing{there: 300, next: "302"}, 300, 300},
		"it grows on, and reports its end":  {growing{there: 300, next: "300", every: time.Millisecond}, 300, 300},
		"it grows on, and does not say":     {growing{there: 300, every: time.Second}, 300, 300 + int(silentFor/time.Second)},
		"it does not say, and grows slowly": {growing{there: 300, every: time.Hour}, 300, 300},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &c.growing
				s.begun = time.Now()
				parts, _ := s.Partitions(t.Context())
				n := 0
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				err := Walk(ctx, s, parts[0], func(batch []Entry) error {
					for _, e := range batch {
						if e.Position.Offset != fmt.Sprint(n) {
							t.Errorf("%s came, and %d is next", e.Position.Offset, n)
						}
						n++
					}
					return nil
				}, func(e *CorruptError) error { return e })
				if err != nil || n < c.least || n > c.most {
					t.Errorf("%d records, %v", n, err)
				}
			})
		})
	}
}

// TestAWalkThatReadsNothingFails: the partition has records, and its readers give none.
func TestAWalkThatReadsNothingFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &growing{next: "5"}
		parts, _ := s.Partitions(t.Context())
		err := Walk(t.Context(), s, parts[0], func([]Entry) error { return nil }, func(e *CorruptError) error { return e })
		if whittle.CodeOf(err) != whittle.Unavailable {
			t.Errorf("%v", err)
		}
	})
}
