package dedup

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// silentFor is how long a partition must be silent to be taken as read to its end.
const silentFor = 10 * time.Second

// Rebuild adds the newest records of a stream whose partitions have offsets
// that count their records (an embedded log, Kafka, JetStream): as many as the
// window holds, an equal part from each partition, up to where each one ends as
// of now. It returns how many ids it added. It skips records without an id,
// expired ones and corrupt ones. tenant returns a record's tenant.
//
// What is expired is so next to the newest record: the time until now, in which
// nothing ran, counts for nothing, for the clock may be wrong. Nobody else may have
// the window yet.
//
// A stream with other offsets returns Unsupported.
func (w *Window) Rebuild(ctx context.Context, s stream.Stream, tenant func(*stream.Record) string, now time.Time) (learned int, err error) {
	partitions, err := s.Partitions(ctx)
	if err != nil {
		return 0, fmt.Errorf("list partitions: %w", err)
	}
	present, newest := w.second(now), uint32(0)
	each := uint64(w.capacity() / max(len(partitions), 1))
	for _, p := range partitions {
		from, end, err := newestOf(p, each)
		if err != nil {
			return learned, err
		}
		if from == end {
			continue
		}
		latest := uint32(0)
		all := stream.Span{
			Stream: s, IdleTimeout: silentFor,
			From: stream.Position{Partition: p.Name, Offset: strconv.FormatUint(from, 10)},
			End:  stream.Position{Partition: p.Name, Offset: strconv.FormatUint(end, 10)},
		}
		err = all.Each(ctx, func(e *stream.Entry, corrupt *stream.CorruptError) error {
			if corrupt != nil {
				w.corrupt++
				return nil //nolint:nilerr // it is counted, and the rest is learned
			}
			// A record is no older than those before it, and none is yet to come: a clock
			// that was wrong for a while has stamped some so.
			latest = min(max(second(e.Time), latest), present)
			newest = max(newest, latest)
			if e.ID != "" && latest >= w.since(newest) {
				w.learn(Hash(tenant(&e.Record), e.ID), e.Position, latest)
				learned++
			}
			return nil
		})
		if err != nil {
			return learned, fmt.Errorf("read partition %s: %w", p.Name, err)
		}
	}
	if newest > 0 {
		w.behind = present - newest
	}
	return learned, nil
}

// Corrupt is how many records Rebuild has met that could not be read: their ids are
// not known.
func (w *Window) Corrupt() uint64 { return w.corrupt }

func (w *Window) capacity() int { return len(w.shards) * len(w.shards[0].ring) }

// newestOf is the range of a partition's last n offsets.
func newestOf(p stream.Partition, n uint64) (from, end uint64, err error) {
	end, errEnd := strconv.ParseUint(p.Next.Offset, 10, 64)
	first := uint64(0)
	var errFirst error
	if p.First.Offset != "" {
		first, errFirst = strconv.ParseUint(p.First.Offset, 10, 64)
	}
	if err := errors.Join(errEnd, errFirst); err != nil {
		return 0, 0, whittle.Errorf(whittle.Unsupported, "partition %s does not count its records", p.Name)
	}
	if end < first {
		return end, end, nil
	}
	return max(first, end-min(n, end)), end, nil
}
