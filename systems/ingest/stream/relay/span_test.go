package relay

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// stalling has readers that fall silent.
type stalling struct {
	*fakeSink
	opened int
	// until is up to which offset (exclusive) reader n of partition "1" gives
	// what there is; below 0: all.
	until func(n int) int
	// holes are offsets below the end that have no record any more.
	holes int
}

func (s *stalling) Partitions(ctx context.Context) ([]stream.Partition, error) {
	parts, err := s.fakeSink.Partitions(ctx)
	for i := range parts {
		n, _ := strconv.Atoi(parts[i].Next.Offset)
		parts[i].Next.Offset = strconv.Itoa(n + s.holes)
	}
	return parts, err
}

func (s *stalling) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	r, err := s.fakeSink.Read(ctx, from)
	if err != nil || from.Partition != "1" {
		return r, err
	}
	s.opened++
	n, _ := strconv.Atoi(from.Offset)
	return &stalled{Reader: r, at: n, until: s.until(s.opened)}, nil
}

type stalled struct {
	stream.Reader
	at, until int
}

func (r *stalled) Next(ctx context.Context, into []stream.Entry) (int, error) {
	if r.until >= 0 {
		into = into[:max(0, min(len(into), r.until-r.at))]
	}
	if len(into) == 0 {
		<-ctx.Done()
		return 0, whittle.Errorf(whittle.DeadlineExceeded, "next: %w", ctx.Err())
	}
	n, err := r.Reader.Next(ctx, into)
	r.at += n
	return n, err
}

// TestASpanIsNotOverWhereItsReaderStalls reads partition 1, which has 500
// records, through readers that stall.
func TestASpanIsNotOverWhereItsReaderStalls(t *testing.T) {
	all := func(int) int { return -1 }
	for name, c := range map[string]struct {
		until func(int) int
		holes int
		first int // the stream let go of what is before it
		from  string
		want  int
		fails bool
	}{
		"no reader stalls":             {until: all, want: 500},
		"the first one stalls":         {until: func(n int) int { return map[bool]int{true: 300, false: -1}[n == 1] }, want: 500},
		"the first gives nothing":      {until: func(n int) int { return map[bool]int{true: 0, false: -1}[n == 1] }, want: 500},
		"each gives a little more":     {until: func(n int) int { return 40 * n }, want: 500},
		"all stall":                    {until: func(n int) int { return map[bool]int{true: 300, false: 0}[n == 1] }, want: 300, fails: true},
		"none gives anything":          {until: func(int) int { return 0 }, fails: true},
		"places without a record":      {until: all, holes: 3, want: 500},
		"only such places":             {until: all, holes: 3, from: "500"},
		"only such places and a stall": {until: func(int) int { return 0 }, holes: 3, from: "500", fails: true},
		"all was let go of":            {until: all, first: 500},
		"all but holes was let go of":  {until: all, first: 500, holes: 3, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shelf := newFakeStore(2)
				for n := range 500 {
					shelf.parts[1] = append(shelf.parts[1], event("k", n))
				}
				shelf.first[1] = c.first
				s := &stalling{fakeSink: newFakeSink(shelf, 0, faults{}), until: c.until, holes: c.holes}
				parts, err := s.Partitions(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				next := 0
				part := stream.Span{Stream: s, IdleTimeout: time.Second, From: stream.Position{Partition: "1", Offset: c.from}, End: parts[1].Next}
				err = part.Each(t.Context(), func(e *stream.Entry, _ *stream.CorruptError) error {
					if e.Position.Offset != strconv.Itoa(next) {
						t.Fatalf("%s came, and %d was expected", e.Position.Offset, next)
					}
					next++
					return nil
				})
				if next != c.want || errors.Is(err, stream.ErrNothingRead) != c.fails || err != nil && (!c.fails || whittle.CodeOf(err) != whittle.Unavailable) {
					t.Errorf("%d records, %v; %d readers", next, err, s.opened)
				}
			})
		})
	}
}

// TestAMoveOfAStalledSource ends with all that the source has, however its
// readers stall, and with no proof where they give too little.
func TestAMoveOfAStalledSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := filled(1000, 2, 25)
		have := len(from.parts[1])
		s := &stalling{fakeSink: newFakeSink(from, 0, faults{})}
		s.until = func(n int) int {
			switch n {
			case 1:
				return have / 2 // and then falls silent
			case 2, 3, 4:
				return 0
			}
			return -1
		}
		var lines strings.Builder
		o := MoveOptions{Limits: quick(), Dir: folder(t), Log: textLog(&lines)}
		m, err := Move(t.Context(), s, newFakeSink(newFakeStore(2), 0, faults{}), o)
		if err != nil || m.Source.Records != 1000 || m.Source != m.Target || !strings.Contains(lines.String(), stream.ErrNothingRead.Error()) {
			t.Errorf("%+v, %v\n%s", m, err, lines.String())
		}
		s.until = func(int) int { return 0 } // when it is compared again
		if m, err = Move(t.Context(), s, newFakeSink(newFakeStore(2), 0, faults{}), o); err == nil {
			t.Errorf("a source that cannot be read is proved: %+v", m)
		}
	})
}

// TestAMoveOfLessThanThereWas: the source gives more now than was moved, before
// the same end.
func TestAMoveOfLessThanThereWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to, o := filled(100, 1, 5), newFakeStore(1), MoveOptions{Limits: quick(), Dir: folder(t)}
		s := &stalling{fakeSink: newFakeSink(from, 0, faults{}), holes: 1, until: func(int) int { return -1 }}
		if m, err := Move(t.Context(), s, newFakeSink(to, 0, faults{}), o); err != nil || m.Source.Records != 100 {
			t.Fatalf("%+v, %v", m, err)
		}
		from.put(event("late", 0))
		s.holes = 0
		if m, err := Move(t.Context(), s, newFakeSink(to, 0, faults{}), o); whittle.CodeOf(err) != whittle.FallsShort {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// TestASinkThatStallsIsAskedAgain, and what it was sent is not sent again while
// it is not known whether it has that. One that never gives anything holds the
// relay up for a while and not for good.
func TestASinkThatStallsIsAskedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		stalls, copies int
		repeated       uint64
	}{"for some readers": {8, 1, 0}, "for ever": {1 << 30, 2, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := Options{Limits: quick(), Dir: folder(t)}
				o.Inflight = 1
				g := openOver(t, o, func(d *fakeSink) stream.Stream {
					s := &stalling{fakeSink: d}
					s.until = func(n int) int {
						if n <= c.stalls {
							return 0
						}
						return -1
					}
					return &unanswered{Stream: s}
				}, keyIn(1, 2, 0))
				time.Sleep(time.Hour)
				if s := g.Status(); s.Lag != 0 || s.Resent != c.repeated || s.Deduplicated != 1-c.repeated {
					t.Errorf("%+v", s)
				}
				for id, n := range counts(t, g.sinks) {
					if n != c.copies {
						t.Errorf("%s came %d times", id, n)
					}
				}
				g.crash()
				g.again(t, o) // now the start has to wait for the sink
				time.Sleep(time.Hour)
				if s := g.Status(); !s.Ready {
					t.Errorf("%+v", s)
				}
				g.close(t)
			})
		})
	}
}

// keyIn is an event that goes to one of so many partitions of a shelf.
func keyIn(partition, of, n int) stream.Record {
	for k := 0; ; k++ {
		s := newFakeStore(of)
		e := event(strconv.Itoa(k), n)
		if s.put(e).Partition == strconv.Itoa(partition) {
			return e
		}
	}
}

// without a response keeps what comes with the first call and gives no response to it.
type unanswered struct {
	stream.Stream
	responded bool
}

func (u *unanswered) Append(ctx context.Context, records []stream.Record) []stream.Result {
	results := u.Stream.Append(ctx, records)
	for i := range results {
		if !u.responded {
			results[i] = stream.Result{Err: whittle.Errorf(whittle.DeadlineExceeded, "no response")}
		}
	}
	u.responded = true
	return results
}

// closedShard is a stream whose partitions tell no end and are closed, as those
// that a resharding of Kinesis leaves behind.
type closedShard struct{ *fakeSink }

func (s closedShard) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	r, err := s.fakeSink.Read(ctx, from)
	return closedReader{r, s.fakeSink}, err
}

type closedReader struct {
	stream.Reader
	of *fakeSink
}

func (r closedReader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	at := r.Reader.(*fakeReader)
	r.of.fakeStore.mu.Lock()
	over := at.next >= len(r.of.parts[at.p])
	r.of.fakeStore.mu.Unlock()
	if over {
		return 0, whittle.Errorf(whittle.FailedPrecondition, "a resharding closed it: %w", stream.ErrEnded)
	}
	return r.Reader.Next(ctx, into)
}

// TestAClosedShardIsReadToItsEnd at a sink after a crash, and by a move.
func TestAClosedShardIsReadToItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Limits: quick(), Dir: folder(t)}
		g := openOver(t, o, func(d *fakeSink) stream.Stream {
			d.bare = true
			return closedShard{d}
		}, event("k", 0), event("j", 0))
		time.Sleep(time.Minute)
		g.crash()
		g.again(t, o)
		time.Sleep(time.Minute)
		if s := g.Status(); !s.Ready || len(s.Troubles) != 0 {
			t.Errorf("%+v", s)
		}
		g.close(t)
		source := newFakeSink(filled(100, 3, 5), 0, faults{})
		source.bare = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		m, err := Move(ctx, closedShard{source}, newFakeSink(newFakeStore(2), 0, faults{}), MoveOptions{Limits: quick(), Dir: folder(t)})
		if err != nil || m.Source.Records != 100 || m.Source != m.Target {
			t.Errorf("%+v, %v", m, err)
		}
	})
}

// dropping loses the connection of its first readers, each behind so many
// records, as the SDK of Kinesis tells it: with io.EOF as its cause.
type dropping struct {
	stream.Stream
	drops int
}

func (s *dropping) Read(ctx context.Context, from stream.Position) (stream.Reader, error) {
	r, err := s.Stream.Read(ctx, from)
	if err != nil || s.drops == 0 {
		return r, err
	}
	s.drops--
	return &droppedReader{r, 10}, nil
}

type droppedReader struct {
	stream.Reader
	left int
}

func (r *droppedReader) Next(ctx context.Context, into []stream.Entry) (int, error) {
	if r.left == 0 {
		return 0, whittle.Errorf(whittle.Unavailable, "read shard: %w", io.EOF)
	}
	n, err := r.Reader.Next(ctx, into[:min(len(into), r.left)])
	r.left -= n
	return n, err
}

// TestADroppedConnectionIsNotTheEnd of a partition, whether it tells its end or
// not: the move reads on behind it.
func TestADroppedConnectionIsNotTheEnd(t *testing.T) {
	for _, bare := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			source := newFakeSink(filled(100, 2, 5), 0, faults{})
			source.bare = bare
			var lines strings.Builder
			m, err := Move(t.Context(), &dropping{source, 3}, newFakeSink(newFakeStore(2), 0, faults{}),
				MoveOptions{Limits: quick(), Dir: folder(t), Log: textLog(&lines)})
			if err != nil || m.Source.Records != 100 || m.Source != m.Target || !strings.Contains(lines.String(), "read shard: EOF") {
				t.Errorf("end not reported:  %v: %+v, %v\n%s", bare, m, err, lines.String())
			}
		})
	}
}
