package relay

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/stream"
)

// MoveOptions are a move's.
type MoveOptions struct {
	Limits
	// Dir is the folder that remembers how far the move is. A move that was
	// ended or killed goes on with the same folder. Needed.
	Dir string
	// Label names the two streams ("embedded:/var/log → kafka:events"). A
	// folder goes on with the label that it began with, and no other.
	Label string
	// Dead takes the records that the target refuses for good. Nil: such a
	// record ends the move.
	Dead stream.Stream
	// MaxKeys bounds how many keys' order is proved (0: 4,000,000, about 100
	// bytes each and side): see Proof.
	MaxKeys int
	// Progress is called about once a second, by one goroutine at a time. Nil:
	// never.
	Progress func(Progress)
	// Log gets what an operator should know. Nil: nobody.
	Log *slog.Logger
}

// Progress is how far a move is.
type Progress struct {
	// Phase is "move", "verify target" or "verify source".
	Phase string
	// Done is how many records of the phase are through, Of how many there are
	// (0: not known).
	Done, Of uint64
	// Records and Bytes are what the target took per second while it moved.
	Records, Bytes float64
	// Troubles is what fails and is tried again.
	Troubles []Trouble
}

// Moved is what a move has done and how it compares.
type Moved struct {
	// Source and Target are the two sides as they were read back, without what
	// is in the dead letters.
	Source, Target Proof
	// Dead is how many records are in the dead letters, Corrupt how many of the
	// source's could not be read, Duplicates how many copies the target has
	// beyond the first of each.
	Dead, Corrupt, Duplicates uint64
	// Missing and Altered count records of the source that the target has not,
	// or not as they were. Positions lists where the first hundred of these and of
	// the corrupt ones are at the source.
	Missing, Altered uint64
	Positions        []stream.Position
	// Resumed says that an earlier run had begun it.
	Resumed bool
}

// moveState is what a move remembers in addition to its place.
type moveState struct {
	Label string            `json:"label"`
	From  []moveSpan        `json:"from"`
	To    map[string]string `json:"to"`   // where the target ended when it began
	Dead  map[string]string `json:"dead"` // the same of the dead letters
	// Total is how many numbers were given to the source's records; 0 until all
	// have arrived.
	Total uint64 `json:"total"`
}

// moveSpan is the part of a partition that is moved.
type moveSpan struct {
	Partition string `json:"partition"`
	From      string `json:"from"`
	End       string `json:"end"`
}

// read is the reading of the part, from an offset on.
func (s *moveSpan) read(from stream.Stream, offset string, idleTimeout time.Duration) stream.Span {
	return stream.Span{
		Stream: from, IdleTimeout: idleTimeout,
		From: stream.Position{Partition: s.Partition, Offset: offset},
		End:  stream.Position{Partition: s.Partition, Offset: s.End},
	}
}

type move struct {
	from, to stream.Stream
	o        MoveOptions
	store    *checkpointStore
	at       checkpoint
	state    *moveState
	drain    *drain
}

// Move copies what from holds when it begins to the end of to, in order by key,
// and then reads both sides and compares them. It closes neither. Each record
// gets one header (OriginHeader) by which it is known at the target, so that
// others may append there meanwhile. Something that fails is tried again until
// ctx ends; a later call with the same folder goes on from there, and one after
// a move that is done compares again.
//
// The error is FallsShort where the sides are not the same or the source has
// corrupt records, and says where; Invalid for options that are none, a record
// that the target refuses while there are no dead letters, or another label;
// Unavailable and others where a stream cannot be listed.
func Move(ctx context.Context, from, to stream.Stream, o MoveOptions) (Moved, error) {
	var err error
	if o.Limits, err = o.withDefaults(); err != nil {
		return Moved{}, err
	}
	o.MaxKeys = cmp.Or(o.MaxKeys, 4_000_000)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	m := &move{from: from, to: to, o: o}
	if m.store, err = openCheckpoints(o.Dir); err != nil {
		return Moved{}, err
	}
	defer m.store.close()
	resumed := m.store.body != nil
	if err := m.open(ctx); err != nil {
		return Moved{Resumed: resumed}, err
	}
	if m.state.Total == 0 {
		if err := m.run(ctx); err != nil {
			return Moved{Resumed: resumed}, err
		}
	}
	result, err := m.verify(ctx)
	result.Resumed = resumed
	return result, err
}

// open takes up where an earlier run was, or begins.
func (m *move) open(ctx context.Context) error {
	if m.store.body == nil {
		return m.begin(ctx)
	}
	at, err := m.store.load()
	if err != nil {
		return err
	}
	if at.Move == nil || at.Move.Label != m.o.Label {
		return whittle.Errorf(whittle.Invalid, "move: the folder %s belongs to something else", m.o.Dir).
			WithHint("name another folder, or the streams that this one began with")
	}
	m.at, m.state = at, at.Move
	return m.kept(ctx)
}

func (m *move) begin(ctx context.Context) error {
	parts, err := m.from.Partitions(ctx)
	if err != nil {
		return whittle.Errorf(whittle.CodeOf(err), "move: list the source's partitions: %w", err)
	}
	s := &moveState{Label: m.o.Label}
	for _, p := range parts {
		s.From = append(s.From, moveSpan{Partition: p.Name, From: p.First.Offset, End: p.Next.Offset})
	}
	if s.To, err = (&sinkScanner{sink: m.to}).ends(ctx); err != nil {
		return whittle.Errorf(whittle.CodeOf(err), "move: list the target's partitions: %w", err)
	}
	if m.o.Dead != nil {
		if s.Dead, err = (&sinkScanner{sink: m.o.Dead}).ends(ctx); err != nil {
			return whittle.Errorf(whittle.CodeOf(err), "move: list the dead letters' partitions: %w", err)
		}
	}
	m.at, m.state = newCheckpoint(), s
	m.at.Move = s
	return nil
}

// kept fails where the source has lost or dropped what is still to be read, be it to
// move it or to compare it, and where it is not the one that the move began with.
func (m *move) kept(ctx context.Context) error {
	parts, err := m.from.Partitions(ctx)
	if err != nil {
		return whittle.Errorf(whittle.CodeOf(err), "move: list the source's partitions: %w", err)
	}
	for _, s := range m.state.From {
		i := slices.IndexFunc(parts, func(p stream.Partition) bool { return p.Name == s.Partition })
		if i < 0 || stream.CompareOffsets(parts[i].First.Offset, s.From) > 0 && s.From != s.End {
			return whittle.Errorf(whittle.FallsShort, "move: the source no longer has the beginning of partition %q", s.Partition).
				WithHint("what is left can be moved with a new folder; that what is gone has arrived cannot be shown any more")
		}
		if err := m.same(ctx, parts[i], s); err != nil {
			return err
		}
	}
	return nil
}

// same fails where a partition ends before the end that the move is to reach, or has
// another record than the last one that was moved.
func (m *move) same(ctx context.Context, p stream.Partition, s moveSpan) error {
	hint := "is it another stream, or an older copy of it? With a new folder what is there can be moved anew"
	if p.Next.Offset != "" && stream.CompareOffsets(p.Next.Offset, s.End) < 0 {
		return whittle.Errorf(whittle.FallsShort, "move: partition %q of the source ends before offset %s, and had reached %s when the move began", p.Name, p.Next.Offset, s.End).WithHint(hint)
	}
	if p.Name != m.at.Last.Partition {
		return nil
	}
	err := stream.Recheck(ctx, m.from, p, m.at.Last.Offset, m.at.Fingerprint)
	if whittle.CodeOf(err) == whittle.FailedPrecondition {
		return whittle.Errorf(whittle.FallsShort, "move: this is not the source that the move began with: %w", err).WithHint(hint)
	}
	return err
}

// of is how many records there are to move, where the offsets show it.
func (s *moveState) of() uint64 {
	var n uint64
	for _, span := range s.From {
		first, err1 := strconv.ParseUint(span.From, 10, 64)
		end, err2 := strconv.ParseUint(span.End, 10, 64)
		if err1 != nil || err2 != nil {
			return 0
		}
		n += end - first
	}
	return n
}

// run moves what is left.
func (m *move) run(ctx context.Context) error {
	ctx, halt := context.WithCancelCause(ctx)
	defer halt(nil)
	var h hasher
	m.drain = newDrain(m.to, m.o.Dead, m.o.Limits, m.at, m.store, m.o.Log)
	m.drain.digest = func(r *stream.Record) string { return h.of(r).text() }
	m.drain.stopForGood = halt
	m.drain.saved = func(_ context.Context, p checkpoint) { m.report(p.Next) }
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.drain.run(ctx)
	}()
	total, err := m.feed(ctx)
	if err == nil {
		err = m.drain.until(ctx, func() bool { return m.drain.win.low() >= total })
	}
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	halt(nil)
	<-ended
	if err == nil {
		m.state.Total = total
	}
	if m.drain.isReady() {
		err = errors.Join(err, m.drain.save(true))
	}
	if err != nil && errors.Is(err, context.Cause(ctx)) && whittle.CodeOf(err) == whittle.Internal {
		return whittle.Errorf(whittle.Canceled, "move: ended at record %d, and goes on from there: %w", m.drain.checkpoint.Next, err)
	}
	return err
}

func (m *move) report(done uint64) {
	p := Progress{Phase: "move", Done: done, Of: m.state.of(), Troubles: m.drain.trouble.list()}
	p.Records, p.Bytes = m.drain.rate.Rate(time.Now())
	m.o.Progress(p)
}

// feed offers the source's records from the checkpoint on, partition by partition,
// and returns the number after the last one.
func (m *move) feed(ctx context.Context) (uint64, error) {
	f := feeder{drain: m.drain, seq: m.at.Next}
	begun := m.at.Next == 0
	for _, s := range m.state.From {
		f.last = s.From
		f.skip = false
		if !begun {
			if s.Partition != m.at.Last.Partition {
				continue
			}
			begun, f.last, f.skip = true, m.at.Last.Offset, true
		}
		for attempt := 0; ; attempt++ {
			before := f.seq
			err := f.read(ctx, m.from, s, m.o.IdleTimeout)
			if err == nil {
				m.drain.trouble.end(atLog, time.Now())
				if behind := stream.NextOffset(f.last); s.End != "" && f.skip && stream.CompareOffsets(behind, s.End) < 0 {
					m.drain.trouble.log.Info("partition ends with offsets that hold no records", "partition", s.Partition, "from", behind, "to", s.End)
				}
				break
			}
			switch code := whittle.CodeOf(err); {
			case ctx.Err() != nil:
				return 0, ctx.Err()
			case code == whittle.Invalid, code == whittle.NotFound, code == whittle.Unsupported:
				return 0, err
			}
			if f.seq > before {
				attempt = 0
			}
			m.drain.trouble.begin(atLog, err, time.Now())
			notify.Sleep(ctx, m.o.backoff(attempt))
		}
	}
	return f.seq, nil
}

// feeder numbers a source's records and offers them.
type feeder struct {
	drain *drain
	seq   uint64
	last  string // where to read on
	skip  bool   // the record at last has been offered
}

func (f *feeder) read(ctx context.Context, from stream.Stream, s moveSpan, idleTimeout time.Duration) error {
	return s.read(from, f.last, idleTimeout).Each(ctx, func(e *stream.Entry, bad *stream.CorruptError) error {
		var at stream.Position
		if bad != nil {
			at = bad.Position
		} else {
			at = e.Position
		}
		if f.skip && stream.CompareOffsets(at.Offset, f.last) <= 0 {
			return nil
		}
		if bad != nil || !e.Intact() {
			f.drain.trouble.log.Error("skipped a corrupt record of the source", "partition", at.Partition, "offset", at.Offset)
			if err := f.drain.pass(ctx, f.seq, at, func(p *checkpoint) { p.Corrupt++ }); err != nil {
				return err
			}
		} else if err := f.drain.offer(ctx, f.seq, e); err != nil {
			return err
		}
		f.seq++
		f.last, f.skip = at.Offset, true
		return nil
	})
}
