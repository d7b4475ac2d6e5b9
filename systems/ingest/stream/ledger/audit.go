package ledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"whittle/systems/ingest/stream"
)

// Report compares what the stream holds with what the producers know.
type Report struct {
	Acknowledged int // by the producers' ledger
	Refused      int // surely not kept, as the stream said
	Unknown      int // may be kept, as the stream said
	Read         int // records that the stream holds
	Missing      int // acknowledged, and not in the stream
	Elsewhere    int // acknowledged, and at another place than the stream said
	Doubled      int // in the stream more than once
	Disordered   int // behind a later record of their key
	Strange      int // corrupt, or never appended
}

// Err is nil where the stream kept its promise.
func (r Report) Err() error {
	if r.Missing+r.Elsewhere+r.Doubled+r.Disordered+r.Strange == 0 {
		return nil
	}
	return errors.New("the stream broke its promise: " + r.String())
}

// String is the report in one line.
func (r Report) String() string {
	return fmt.Sprintf("%d acknowledged, %d refused, %d unknown; %d read: %d missing, %d elsewhere, %d doubled, %d out of order, %d strange",
		r.Acknowledged, r.Refused, r.Unknown, r.Read, r.Missing, r.Elsewhere, r.Doubled, r.Disordered, r.Strange)
}

// auditor reads a stream from its beginning.
type auditor struct {
	report Report
	last   map[string]int // the highest number read, by key
	seen   map[string]bool
	left   map[string]map[int]stream.Position // acknowledged, not yet read
}

// Audit reads all that s holds now. No producer may be at work.
func (l *Ledger) Audit(ctx context.Context, s stream.Stream) (Report, error) {
	a := auditor{last: map[string]int{}, seen: map[string]bool{}, left: l.copy()}
	a.report = Report{Acknowledged: l.Acknowledged(), Refused: l.Refused(), Unknown: l.Unknown()}
	parts, err := s.Partitions(ctx)
	if err != nil {
		return a.report, err
	}
	for _, p := range parts {
		err := stream.Walk(ctx, s, p, func(batch []stream.Entry) error {
			for i := range batch {
				a.entry(&batch[i])
			}
			return nil
		}, func(*stream.CorruptError) error {
			a.report.Strange++
			return nil
		})
		if err != nil {
			return a.report, err
		}
	}
	for _, numbers := range a.left {
		a.report.Missing += len(numbers)
	}
	return a.report, nil
}

func (l *Ledger) copy() map[string]map[int]stream.Position {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := maps.Clone(l.kept)
	for key, numbers := range all {
		all[key] = maps.Clone(numbers)
	}
	return all
}

func (a *auditor) entry(e *stream.Entry) {
	a.report.Read++
	key, number := parse(e.ID)
	if number < 0 || key != e.Key || !bytes.HasPrefix(e.Value, []byte(e.ID+"|")) || len(e.Value)%(len(e.ID)+1) != 0 {
		a.report.Strange++
		return
	}
	if a.seen[e.ID] {
		a.report.Doubled++
		return
	}
	a.seen[e.ID] = true
	if last, ok := a.last[key]; ok && number < last {
		a.report.Disordered++
	}
	a.last[key] = max(number, a.last[key])
	if at, ok := a.left[key][number]; ok && at != e.Position {
		a.report.Elsewhere++
	}
	delete(a.left[key], number)
}
