package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/systems/ingest/stream"
)

// Why a scan of the sink failed, and will fail again.
var (
	errUnreadable = errors.New("the sink cannot be asked what it has")
	errTooFar     = errors.New("too much to read at the sink")
)

// maxSilentScans is after how many looks in turn, each ended by stream.ErrNothingRead, a sink is
// taken not to have what was looked for: there may be nothing in it that could
// be read. With the waits between them that is about ten minutes.
const maxSilentScans = 10

// readers is how many partitions are read at once.
const readers = 8

// sinkScanner finds the records of a sender at the sink's end.
type sinkScanner struct {
	sink        stream.Stream
	id          string
	limit       int
	idleTimeout time.Duration
	// noHeaders says that the sink keeps none, so that there is nothing to find.
	noHeaders bool
}

// ends returns where the sink's partitions end now.
func (l *sinkScanner) ends(ctx context.Context) (map[string]string, error) {
	parts, err := l.partitions(ctx)
	if err != nil {
		return nil, err
	}
	ends := make(map[string]string, len(parts))
	for _, p := range parts {
		ends[p.Name] = p.Next.Offset
	}
	return ends, nil
}

func (l *sinkScanner) partitions(ctx context.Context) ([]stream.Partition, error) {
	if l.noHeaders {
		return nil, fmt.Errorf("%w: it keeps no headers", errUnreadable)
	}
	parts, err := l.sink.Partitions(ctx)
	if whittle.CodeOf(err) == whittle.Unsupported && err != nil {
		return nil, fmt.Errorf("%w: %w", errUnreadable, err)
	}
	return parts, err
}

// scan reads each partition from ends on to where it ends now, and returns the
// wanted numbers that it found, with their records' checksums.
func (l *sinkScanner) scan(ctx context.Context, ends map[string]string, wanted func(uint64) bool) (map[uint64]uint32, error) {
	parts, err := l.partitions(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // guards the following
	found := map[uint64]uint32{}
	read := 0

	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(readers)
	for _, p := range parts {
		from := stream.Position{Partition: p.Name, Offset: ends[p.Name]}
		all.Go(func() error {
			s := stream.Span{Stream: l.sink, From: from, End: p.Next, IdleTimeout: l.idleTimeout}
			return s.Each(ctx, func(e *stream.Entry, bad *stream.CorruptError) error {
				mu.Lock()
				defer mu.Unlock()
				if read++; read > l.limit {
					return fmt.Errorf("%w: more than %d records behind the last that was acknowledged", errTooFar, l.limit)
				}
				if bad != nil {
					return nil
				}
				if seq, _, _, ok := originOf(&e.Record, l.id); ok && wanted(seq) {
					found[seq] = e.Sum
				}
				return nil
			})
		})
	}
	if err := all.Wait(); err != nil {
		if whittle.CodeOf(err) == whittle.Unsupported {
			err = fmt.Errorf("%w: %w", errUnreadable, err)
		}
		return nil, err
	}
	return found, nil
}
