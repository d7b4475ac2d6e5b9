package jetstream

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/fleet"
	"whittle/carve/fleet/evidence"
	"whittle/internal/notify"
)

// Limits bound the stream of evidence. The oldest goes first: what is not judged by then
// is not judged.
type Limits struct {
	// Bytes of the stream. 0: 1 GiB.
	Bytes int64
	// Age of a message. 0: an hour.
	Age time.Duration
}

const (
	defaultBytes = 1 << 30
	defaultAge   = time.Hour
)

// Publish appends a route's message to the stream. An error that is
// not coded Unavailable leaves open whether it is there.
func (m *Member) Publish(ctx context.Context, route string, message []byte) error {
	s, err := m.stream(ctx)
	if err != nil {
		m.lose(err)
		return whittle.Errorf(whittle.Unavailable, "look up the fleet's stream: %w", err)
	}
	_, err = s.js.PublishMsg(ctx, &client.Msg{Subject: m.subject(route), Data: message})
	m.lose(err)
	if errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, client.ErrNoResponders) {
		m.forget()
	}
	return published(err)
}

// published codes what came of a message as Unavailable where the stream has surely not
// taken it.
func published(err error) error {
	var refused *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && !mayBeThere(refused),
		errors.Is(err, client.ErrConnectionClosed), errors.Is(err, client.ErrDisconnected), errors.Is(err, client.ErrReconnectBufExceeded), errors.Is(err, client.ErrMaxPayload), // it was not sent
		errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, client.ErrNoResponders): // there is no such stream
		return whittle.Errorf(whittle.Unavailable, "publish an exchange: %w", err)
	}
	return whittle.Errorf(whittle.DeadlineExceeded, "publish an exchange: %w", err)
}

// storeFailed is the code of a server that could not store a message.
const storeFailed = 10077

// mayBeThere reports whether a message may be there although a server has refused it: one that
// ends refuses what it could not store any more, and the others of the cluster have. What
// is above a limit is so for each of them.
func mayBeThere(refused *jetstream.APIError) bool {
	return refused.ErrorCode == storeFailed && !strings.HasPrefix(refused.Description, "maximum ")
}

// Stored is a message as the stream has it: its place, and when it came there by the
// server's clock.
type Stored struct {
	Place   uint64
	At      time.Time
	Message []byte
}

// Follow gives take each message of a route in the stream's order, from
// the one after a place on, until ctx ends. A stream that has lost its end goes on at
// the end that it has.
func (m *Member) Follow(ctx context.Context, route string, after uint64, take func(s *Stored)) {
	for ctx.Err() == nil {
		after = m.followOnce(ctx, route, after, take)
		notify.Sleep(ctx, tick)
	}
}

func (m *Member) followOnce(ctx context.Context, route string, after uint64, take func(*Stored)) uint64 {
	short, cancel := context.WithTimeout(ctx, m.o.Node.Lease)
	defer cancel()
	s, err := m.stream(short)
	if err != nil {
		return after
	}
	info, err := s.stream.Info(short)
	if err != nil {
		m.forget()
		return after
	}
	after = min(after, info.State.LastSeq)
	consumer, err := s.stream.OrderedConsumer(short, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{m.subject(route)}, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: after + 1,
		MaxResetAttempts: 1, // where the stream is gone it would try for ever, and hear of no end
	})
	if err != nil {
		return after
	}
	messages, err := consumer.Messages()
	if err != nil {
		return after
	}
	defer messages.Stop()
	for {
		wait, end := context.WithTimeout(ctx, quiet*m.o.Node.Lease)
		msg, err := messages.Next(jetstream.NextContext(wait))
		end()
		switch {
		case ctx.Err() != nil: // what is at hand comes even so
			return after
		case err != nil: // or nothing has come for so long
			return after
		}
		meta, err := msg.Metadata()
		if err != nil {
			return after
		}
		after = meta.Sequence.Stream
		take(&Stored{Place: after, At: meta.Timestamp, Message: msg.Data()})
	}
}

// quiet is how many leases a route may be without a message until it is asked for anew: a
// consumer at a server whose disk was full has been seen to bring nothing for as long as it
// was there.
const quiet = 4

func (m *Member) subject(route string) string {
	return "whittle." + m.o.Name + ".evidence." + fleet.RouteKey(route)
}

// opened is the stream with its client.
type opened struct {
	js     jetstream.JetStream
	stream jetstream.Stream
}

// stream is the fleet's, which is made where there is none.
func (m *Member) stream(ctx context.Context) (opened, error) {
	return lookedUp(m, &m.evidence, func() (s opened, err error) {
		if s.js, err = jetstream.New(m.conn); err != nil {
			return s, err
		}
		name := "whittle_" + m.o.Name + "_evidence"
		s.stream, err = s.js.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			s.stream, err = s.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: name, Description: "exchanges of a fleet of whittle gateways, redacted", Subjects: []string{"whittle." + m.o.Name + ".evidence.>"},
				Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld, Storage: jetstream.FileStorage,
				MaxBytes: cmp.Or(m.o.Evidence.Bytes, defaultBytes), MaxAge: cmp.Or(m.o.Evidence.Age, defaultAge),
				MaxMsgSize: evidence.MaxMessage, Replicas: m.replicas(),
			})
		}
		return s, err
	})
}
