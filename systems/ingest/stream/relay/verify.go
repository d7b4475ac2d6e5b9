package relay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// maxPositions bounds how many places a result names.
const maxPositions = 100

// verification reads what arrived, then what was there, and compares.
type verification struct {
	*move
	hash    hasher
	result  Moved
	seen    bitmap // numbers that the target has
	dead    bitmap // numbers that the dead letters have
	altered map[uint64]bool

	target, source     *tracker
	letters, sourceBad multiset // of what is in the dead letters, by either side

	reported time.Time
}

// maxAltered bounds how many altered records are remembered one by one.
const maxAltered = 100_000

func (m *move) verify(ctx context.Context) (Moved, error) {
	v := &verification{
		move: m, altered: map[uint64]bool{},
		target: newTracker(m.o.MaxKeys), source: newTracker(m.o.MaxKeys),
	}
	if err := v.readDead(ctx); err != nil {
		return v.result, fmt.Errorf("read dead letters: %w", err)
	}
	if err := v.readTarget(ctx); err != nil {
		return v.result, fmt.Errorf("read target: %w", err)
	}
	if err := v.readSource(ctx); err != nil {
		return v.result, fmt.Errorf("read source: %w", err)
	}
	return v.result, v.verdict()
}

// tail reads a stream's partitions from ends on to where they end now.
func (v *verification) tail(ctx context.Context, s stream.Stream, ends map[string]string, each func(*stream.Entry, *stream.CorruptError) error) error {
	parts, err := s.Partitions(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		part := stream.Span{Stream: s, From: stream.Position{Partition: p.Name, Offset: ends[p.Name]}, End: p.Next, IdleTimeout: v.o.IdleTimeout}
		if err := part.Each(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

func (v *verification) readDead(ctx context.Context) error {
	if v.o.Dead == nil {
		return nil
	}
	return v.tail(ctx, v.o.Dead, v.state.Dead, func(e *stream.Entry, _ *stream.CorruptError) error {
		if e == nil {
			return nil
		}
		seq, _, _, mine := originOf(&e.Record, v.at.ID)
		if !mine || seq >= v.state.Total {
			return nil
		}
		l, err := ReadDeadLetter(&e.Record)
		if err != nil || v.dead.set(seq) {
			return nil //nolint:nilerr // a letter that cannot be opened is a record that is missing
		}
		v.result.Dead++
		v.letters.add(v.hash.of(&l.Record))
		return nil
	})
}

func (v *verification) readTarget(ctx context.Context) error {
	return v.tail(ctx, v.to, v.state.To, func(e *stream.Entry, _ *stream.CorruptError) error {
		if e == nil {
			return nil
		}
		seq, text, at, mine := originOf(&e.Record, v.at.ID)
		if !mine || seq >= v.state.Total {
			return nil
		}
		if v.dead.has(seq) || v.seen.has(seq) {
			v.result.Duplicates++
			return nil
		}
		v.seen.set(seq)
		r := e.Record
		r.Header = append(append([]stream.Header(nil), r.Header[:at]...), r.Header[at+1:]...)
		d := v.hash.of(&r)
		if d.text() != text || !r.Intact() {
			v.result.Altered++
			if len(v.altered) < maxAltered {
				v.altered[seq] = true
			}
		}
		v.target.add(r.Key, len(v.hash.buf), d)
		v.report("verify target", v.target.records)
		return nil
	})
}

// readSource reads the source as the move did, so that its records have the
// same numbers.
func (v *verification) readSource(ctx context.Context) error {
	if err := v.kept(ctx); err != nil {
		return err
	}
	var seq uint64
	for _, s := range v.state.From {
		err := s.read(v.from, s.From, v.o.IdleTimeout).Each(ctx, func(e *stream.Entry, bad *stream.CorruptError) error {
			if seq >= v.state.Total {
				return errBeyond
			}
			v.compare(seq, e, bad)
			seq++
			return nil
		})
		switch {
		case errors.Is(err, errBeyond) && s.End == "": // an end that silence showed: more has come since
		case errors.Is(err, errBeyond):
			return whittle.Errorf(whittle.FallsShort, "the source had %d records, and more are read before the same ends", v.state.Total)
		case err != nil:
			return err
		}
	}
	if seq < v.state.Total {
		return whittle.Errorf(whittle.FallsShort, "the source had %d records and has %d", v.state.Total, seq)
	}
	return nil
}

var errBeyond = whittle.Errorf(whittle.Internal, "beyond what was moved")

func (v *verification) compare(seq uint64, e *stream.Entry, bad *stream.CorruptError) {
	if bad != nil || !e.Intact() {
		v.result.Corrupt++
		if bad != nil {
			v.addPosition(bad.Position)
		} else {
			v.addPosition(e.Position)
		}
		return
	}
	d := v.hash.of(&e.Record)
	if v.dead.has(seq) {
		v.sourceBad.add(d)
		return
	}
	v.source.add(e.Key, len(v.hash.buf), d)
	switch {
	case !v.seen.has(seq):
		v.result.Missing++
		v.addPosition(e.Position)
	case v.altered[seq]:
		v.addPosition(e.Position)
	}
	v.report("verify source", v.source.records)
}

func (v *verification) addPosition(p stream.Position) {
	if len(v.result.Positions) < maxPositions {
		v.result.Positions = append(v.result.Positions, p)
	}
}

func (v *verification) report(phase string, done uint64) {
	if done%1024 != 0 {
		return
	}
	if now := time.Now(); now.Sub(v.reported) >= time.Second {
		v.reported = now
		v.o.Progress(Progress{Phase: phase, Done: done, Of: v.state.Total})
	}
}

// verdict is nil where both sides hold the same.
func (v *verification) verdict() error {
	sample := max(v.source.sample, v.target.sample)
	v.source.narrow(sample)
	v.target.narrow(sample)
	r := &v.result
	r.Source, r.Target = v.source.proof(), v.target.proof()
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if r.Missing > 0 {
		say("%d records are missing at the target", r.Missing)
	}
	if r.Altered > 0 {
		say("%d are not what they were", r.Altered)
	}
	if r.Corrupt > 0 {
		say("%d are corrupt at the source", r.Corrupt)
	}
	if len(wrong) == 0 && (r.Source.Records != r.Target.Records || r.Source.Content != r.Target.Content) {
		say("the source now reads otherwise than when it was moved")
	}
	if len(wrong) == 0 && v.letters != v.sourceBad {
		say("the dead letters do not hold what the target refused")
	}
	if len(wrong) == 0 && r.Source.Order != r.Target.Order {
		say("the order within a key is another")
	}
	if len(wrong) == 0 {
		return nil
	}
	return whittle.Errorf(whittle.FallsShort, "move: %s%s", strings.Join(wrong, ", "), positionsText(r.Positions))
}

func positionsText(places []stream.Position) string {
	if len(places) == 0 {
		return ""
	}
	const shown = 10
	var b strings.Builder
	b.WriteString(": at ")
	for i, p := range places[:min(shown, len(places))] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s/%s", p.Partition, p.Offset)
	}
	if len(places) > shown {
		b.WriteString(" and more")
	}
	return b.String()
}
