package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"whittle"
)

// lookUp finds the stream, makes it where that is asked for, and refuses one
// that would not keep what it acknowledged.
func lookUp(ctx context.Context, js jetstream.JetStream, conn *client.Conn, o *Options) (jetstream.Stream, error) {
	s, err := js.Stream(ctx, o.Stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if o.Create == nil {
			return nil, whittle.Errorf(whittle.NotFound, "JetStream has no stream %q", o.Stream).
				WithHint("create it with file storage on subject " + o.Subject + ", or let it be created (--nats-create)")
		}
		s, err = js.CreateStream(ctx, newConfig(o, conn.ConnectedClusterName() != ""))
	}
	if err != nil {
		return nil, unreachable(ctx, "look up JetStream stream "+o.Stream, err)
	}
	return s, check(s.CachedInfo().Config, o)
}

func newConfig(o *Options, clustered bool) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name:       o.Stream,
		Subjects:   []string{o.Subject},
		Retention:  jetstream.LimitsPolicy,
		Storage:    jetstream.FileStorage,
		Discard:    jetstream.DiscardNew,
		MaxBytes:   o.Create.MaxBytes,
		MaxAge:     o.Create.MaxAge,
		Replicas:   o.Create.Replicas,
		Duplicates: duplicates,
	}
	c.MaxBytes = cmp.Or(c.MaxBytes, -1)
	if c.Replicas == 0 {
		c.Replicas = 1
		if clustered {
			c.Replicas = defaultReplicas
		}
	}
	if c.MaxAge > 0 {
		c.Duplicates = min(c.Duplicates, c.MaxAge) // the server insists
	}
	return c
}

// check says what about a stream's settings would make an acknowledgement untrue.
func check(c jetstream.StreamConfig, o *Options) error {
	refuse := func(what, hint string) error {
		return whittle.Errorf(whittle.FailedPrecondition, "JetStream stream %q %s", c.Name, what).WithHint(hint)
	}
	switch {
	case c.Storage != jetstream.FileStorage:
		return refuse("is kept in memory", "storage: file")
	case c.PersistMode == jetstream.AsyncPersistMode:
		return refuse("acknowledges before it has written", "persist_mode: default")
	case c.Retention != jetstream.LimitsPolicy:
		return refuse("lets go of what has been consumed", "retention: limits")
	case c.NoAck:
		return refuse("acknowledges nothing", "no_ack: false")
	case c.Mirror != nil || c.Sealed:
		return refuse("takes no messages: it is a mirror or sealed", "name the stream that is written to")
	case c.MaxMsgsPerSubject > 0:
		return refuse("forgets all but the last messages of a subject, and all records have one", "max_msgs_per_subject: -1")
	case c.SubjectTransform != nil:
		return refuse("puts messages under another subject, where they are not found as ours", "leave subject_transform out")
	case c.MaxMsgs > 0 && c.Discard == jetstream.DiscardOld:
		return refuse("lets go of acknowledged messages to take new ones (max_msgs)", "discard: new")
	case !slices.ContainsFunc(c.Subjects, func(pattern string) bool { return captures(pattern, o.Subject) }):
		return refuse("does not capture the subject "+o.Subject, "add it to the stream's subjects")
	case c.Duplicates <= o.DeliveryTimeout:
		return refuse("forgets message ids sooner than a record is given up", "a duplicate_window longer than the delivery timeout")
	}
	return nil
}

// forgets says of a stream that was not refused what it lets go of, as its owner may want:
// by size; empty: nothing, but by age.
func forgets(c jetstream.StreamConfig) string {
	if c.MaxBytes > 0 && c.Discard == jetstream.DiscardOld {
		return fmt.Sprintf("the JetStream stream %s drops its oldest messages beyond %d bytes (discard: old)", c.Name, c.MaxBytes)
	}
	return ""
}

// captures reports whether a pattern of subjects takes in one subject.
func captures(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		switch {
		case token == ">":
			return len(s) > i
		case i >= len(s), token != "*" && token != s[i]:
			return false
		}
	}
	return len(p) == len(s)
}
