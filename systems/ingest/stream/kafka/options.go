package kafka

import (
	"cmp"
	"crypto/tls"
	"math"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"whittle"
)

// Options says which topic, and how it is written.
type Options struct {
	// Brokers are the first addresses to ask, host:port. At least one.
	Brokers []string
	// Topic holds the records. It may be shared with nobody: a record that this
	// package did not write reads as corrupt.
	Topic string
	// Create makes the topic where it does not exist. Nil: Open fails then.
	Create *Create
	// ClientID is the name in the brokers' logs and quotas. Empty: whittle.
	ClientID string
	// TLS encrypts the connections. Nil: plain TCP.
	TLS *tls.Config
	// SASL says who we are. The zero value: nobody.
	SASL SASL
	// DeliveryTimeout is how long Append waits for the brokers before it gives
	// up on a record. 0: 30 s.
	DeliveryTimeout time.Duration
	// Buffer bounds the records that wait or are under way, in bytes; what
	// comes beyond it is refused. 0: 64 MiB.
	Buffer int64
}

// Create is how a missing topic is made. The zero value works.
type Create struct {
	// Partitions is how many there are. 0: 12.
	Partitions int32
	// Replicas is how many brokers keep a copy. 0: three, or as many as there
	// are brokers. With three or more, the topic wants two of them in sync
	// before it acknowledges (min.insync.replicas).
	Replicas int16
}

// SASL is a user by name and password.
type SASL struct {
	// Mechanism is plain, scram-sha-256 or scram-sha-512. Empty: no SASL.
	Mechanism string
	User      string
	Password  string
}

const (
	defaultDelivery   = 30 * time.Second
	defaultBuffer     = 64 << 20
	defaultPartitions = 12
	defaultReplicas   = 3
)

func (o Options) withDefaults() (Options, error) {
	if len(o.Brokers) == 0 || o.Topic == "" {
		return o, whittle.Errorf(whittle.Invalid, "a Kafka stream needs brokers and a topic")
	}
	if o.DeliveryTimeout < 0 || o.Buffer < 0 {
		return o, whittle.Errorf(whittle.Invalid, "a Kafka stream's delivery timeout and buffer are not negative")
	}
	o.ClientID = cmp.Or(o.ClientID, "whittle")
	o.DeliveryTimeout = cmp.Or(o.DeliveryTimeout, defaultDelivery)
	o.Buffer = cmp.Or(o.Buffer, defaultBuffer)
	return o, nil
}

// client returns the settings that all our clients share.
func (o *Options) client() ([]kgo.Opt, error) {
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.Brokers...),
		kgo.ClientID(o.ClientID),
		// Leaders move within a second or so: the defaults (5 s, and up to 2.5 s)
		// would be most of the wait after a broker's end.
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.RetryBackoffFn(backoff),
		kgo.DisableClientMetrics(),
	}
	if o.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(o.TLS))
	}
	mechanism, err := o.SASL.mechanism()
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		opts = append(opts, kgo.SASL(mechanism))
	}
	return opts, nil
}

func (s SASL) mechanism() (sasl.Mechanism, error) {
	scrammed := scram.Auth{User: s.User, Pass: s.Password}
	switch s.Mechanism {
	case "":
		return nil, nil
	case "plain":
		return plain.Auth{User: s.User, Pass: s.Password}.AsMechanism(), nil
	case "scram-sha-256":
		return scrammed.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scrammed.AsSha512Mechanism(), nil
	}
	return nil, whittle.Errorf(whittle.Invalid, "SASL mechanism %q is not known", s.Mechanism).
		WithHint("plain, scram-sha-256 or scram-sha-512")
}

// producer returns the settings of a partition queue's client: acknowledged by
// all in-sync replicas, and idempotent. These are franz-go's defaults; they are
// explicit here because durability depends on them. Nothing is sent before
// Flush. The client has no bounds of its own: the partition queue bounds what
// it sends.
func producer(o *Options, w *produceTracker) []kgo.Opt {
	return []kgo.Opt{
		kgo.DefaultProduceTopic(o.Topic),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ManualFlushing(),
		kgo.MaxBufferedRecords(math.MaxInt32),
		kgo.RecordDeliveryTimeout(o.DeliveryTimeout),
		kgo.ProduceRequestTimeout(min(o.DeliveryTimeout, 10*time.Second)),
		kgo.WithHooks(w),
	}
}

// backoff is the pause before the next try of a request: 0.1 s doubled each
// time, 1 s at most, and a fifth of it by chance, so that many clients of a
// broker that comes back do not come at once.
func backoff(failures int) time.Duration {
	pause := min(100*time.Millisecond<<min(max(failures-1, 0), 4), time.Second)
	return pause - time.Duration(rand.Int64N(int64(pause/5)))
}
