package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"whittle"
	"whittle/systems/ingest/stream"
)

// lazySink is a sink that could not be reached when the server started. With a
// log in front that is no reason not to start: it is opened when it is used,
// and until then says that it is not there.
type lazySink struct {
	open       func(context.Context) (stream.Stream, error)
	durability stream.Durability
	log        *slog.Logger

	mu   sync.Mutex // guards the following, and is held while it is opened
	sink stream.Stream
	err  error     // of the last attempt
	next time.Time // when to try again
}

const (
	openTimeout = 10 * time.Second
	openAgain   = time.Second
	// modestLimit is what every sink takes unless it was set up to take less.
	modestLimit = 900 << 10
)

// openOrRetry opens a sink now or, where it cannot be reached, later.
func openOrRetry(ctx context.Context, name string, log *slog.Logger, open func(context.Context) (stream.Stream, error)) (stream.Stream, error) {
	class := map[string]stream.Durability{"kafka": stream.KafkaAll, "kinesis": stream.Kinesis, "nats": stream.JetStream}[name]
	s := &lazySink{open: open, durability: class, log: log}
	sink, err := s.get(ctx)
	switch whittle.CodeOf(err) {
	case whittle.Unavailable, whittle.DeadlineExceeded:
		log.Warn("sink not reachable; events are kept in the log until it is", "sink", name, "err", err)
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	return sink, nil
}

func (s *lazySink) get(ctx context.Context) (stream.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink != nil {
		return s.sink, nil
	}
	if s.err != nil && time.Now().Before(s.next) {
		return nil, s.err
	}
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	sink, err := s.open(ctx)
	if err != nil {
		code := whittle.CodeOf(err)
		if ctx.Err() != nil {
			code = whittle.Unavailable
		}
		s.err, s.next = whittle.Errorf(code, "reach the sink: %w", err), time.Now().Add(openAgain)
		return nil, s.err
	}
	if s.err != nil {
		s.log.Info("sink reached")
	}
	s.sink, s.err = sink, nil
	return sink, nil
}

func (s *lazySink) known() (stream.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sink, s.err
}

func (s *lazySink) Durability() stream.Durability { return s.durability }

func (s *lazySink) Limit() int {
	if sink, _ := s.known(); sink != nil {
		return sink.Limit()
	}
	return modestLimit
}

func (s *lazySink) Append(ctx context.Context, records []stream.Record) []stream.Result {
	sink, err := s.get(ctx)
	if err == nil {
		return sink.Append(ctx, records)
	}
	return slices.Repeat([]stream.Result{{Err: whittle.Errorf(whittle.Unavailable, "append: %w", err)}}, len(records))
}

func (s *lazySink) Capacity() stream.Capacity {
	sink, err := s.known()
	if sink == nil {
		return stream.Capacity{Err: err}
	}
	return sink.Capacity()
}

// Close closes what was opened, and keeps it from being opened any more.
func (s *lazySink) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = func(context.Context) (stream.Stream, error) {
		return nil, whittle.Errorf(whittle.Unavailable, "the sink is closed")
	}
	if s.sink == nil {
		return nil
	}
	return s.sink.Close(ctx)
}
