package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
	"whittle/carve/fleet"
	"whittle/internal/notify"
)

// Gateways talk over plain NATS as well, where what is lost is said again or is a sample.

// heard bounds the messages of a subject that wait; NATS drops what comes then.
const heard = 256

func (m *Member) talk(what string) string { return "whittle." + m.o.Name + "." + what }

// IsConnected reports whether there is a connection to a server.
func (m *Member) IsConnected() bool { return m.conn.IsConnected() }

// Say sends a message to whoever listens. It never waits: without a connection nothing is
// sent.
func (m *Member) Say(what string, message []byte) {
	if m.conn.IsConnected() {
		_ = m.conn.Publish(m.talk(what), message) // it is said again, or is a sample
	}
}

// Listen gives take each message of a subject, or of several by a pattern, until ctx ends.
func (m *Member) Listen(ctx context.Context, what string, take func(message []byte)) {
	m.subscribe(ctx, what, func(msg *client.Msg) { take(msg.Data) })
}

// Respond gives respond each question, one after the other, until ctx ends.
func (m *Member) Respond(ctx context.Context, what string, respond func(question []byte) []byte) {
	m.subscribe(ctx, what, func(msg *client.Msg) { _ = msg.Respond(respond(msg.Data)) })
}

func (m *Member) subscribe(ctx context.Context, what string, take func(*client.Msg)) {
	messages := make(chan *client.Msg, heard)
	s, err := m.conn.ChanSubscribe(m.talk(what), messages)
	for ; err != nil; s, err = m.conn.ChanSubscribe(m.talk(what), messages) {
		if notify.Sleep(ctx, time.Second); ctx.Err() != nil {
			return
		}
	}
	defer func() { _ = s.Unsubscribe() }()
	for {
		select {
		case <-ctx.Done():
			return
		case msg := <-messages:
			take(msg)
		}
	}
}

// Ask gives the response to a question. Errors are coded Unavailable where nobody
// responds, DeadlineExceeded where it is not known what has become of it.
func (m *Member) Ask(ctx context.Context, what string, question []byte) ([]byte, error) {
	msg, err := m.conn.RequestWithContext(ctx, m.talk(what), question)
	switch {
	case err == nil:
		return msg.Data, nil
	case errors.Is(err, client.ErrNoResponders), !m.conn.IsConnected():
		return nil, whittle.Errorf(whittle.Unavailable, "nobody leads the fleet at the moment").
			WithHint("try again in a few seconds; whittle fleet says what is wrong")
	}
	return nil, whittle.Errorf(whittle.DeadlineExceeded, "the gateway that leads has not responded: %w", err)
}

// Reported is a gateway's last report as the store has it.
type Reported struct {
	fleet.Report
	At time.Time
}

// Reported are the last reports of all gateways that ever were, by what the store has.
func (m *Member) Reported(ctx context.Context) (all []Reported, err error) {
	err = m.each(ctx, fleet.Reports, func(e jetstream.KeyValueEntry) {
		var r Reported
		if json.Unmarshal(e.Value(), &r.Report) == nil && r.Member != "" {
			r.At = e.Created()
			all = append(all, r)
		}
	})
	return all, err
}

// each gives take what the store has under a pattern.
func (m *Member) each(ctx context.Context, pattern string, take func(jetstream.KeyValueEntry), o ...jetstream.WatchOpt) error {
	kv, err := m.bucket(ctx)
	if err != nil {
		return away(err)
	}
	w, err := kv.Watch(ctx, pattern, append(o, jetstream.IgnoreDeletes())...)
	if err != nil {
		return away(err)
	}
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return away(ctx.Err())
		case e, open := <-w.Updates():
			switch {
			case !open:
				return away(errors.New("the watch has ended"))
			case e == nil:
				return nil
			}
			take(e)
		}
	}
}

// RecordsRevision is the highest revision of a route's record; another one means that a
// record is another one.
func (m *Member) RecordsRevision(ctx context.Context) (revision uint64, err error) {
	err = m.each(ctx, "record.>", func(e jetstream.KeyValueEntry) { revision = max(revision, e.Revision()) }, jetstream.MetaOnly())
	return revision, err
}
