package nats

import (
	"cmp"
	"crypto/tls"
	"time"

	client "github.com/nats-io/nats.go"

	"whittle"
)

// Options says which JetStream stream, and where.
type Options struct {
	// URL is one server or several, nats://host:port separated by commas.
	URL string
	// Credentials is a .creds file. Empty: none.
	Credentials string
	// TLS encrypts the connection. Nil: as the URL says.
	TLS *tls.Config
	// Stream is the JetStream stream's name.
	Stream string
	// Subject is what records are published on; the stream must capture it. It
	// belongs to this package: another's message reads as corrupt. Empty:
	// Stream + ".records".
	Subject string
	// Create makes the stream where it does not exist. Nil: Open fails then.
	Create *Create
	// DeliveryTimeout is how long Append waits for the server before it gives
	// up on a record. It must be shorter than the stream's duplicate window
	// (2 minutes by default). 0: 30 s.
	DeliveryTimeout time.Duration
	// Buffer bounds the records that wait or are under way, in bytes; what
	// comes beyond it is refused. 0: 64 MiB.
	Buffer int64
}

// Create is how a missing stream is made. The zero value works: kept in files,
// without bounds, and never letting go of old records to take new ones.
type Create struct {
	// Replicas is how many servers keep a copy. 0: three in a cluster, otherwise one.
	Replicas int
	// MaxBytes bounds the stream; a full one refuses records. 0: no bound.
	MaxBytes int64
	// MaxAge is how long records are kept. 0: for ever.
	MaxAge time.Duration
}

const (
	defaultDelivery = 30 * time.Second
	defaultBuffer   = 64 << 20
	duplicates      = 2 * time.Minute
	defaultReplicas = 3
)

func (o Options) withDefaults() (Options, error) {
	if o.Stream == "" || o.URL == "" {
		return o, whittle.Errorf(whittle.Invalid, "a NATS stream needs a stream's name and a URL")
	}
	if o.DeliveryTimeout < 0 || o.Buffer < 0 {
		return o, whittle.Errorf(whittle.Invalid, "a NATS stream's delivery timeout and buffer are not negative")
	}
	o.Subject = cmp.Or(o.Subject, o.Stream+".records")
	o.DeliveryTimeout = cmp.Or(o.DeliveryTimeout, defaultDelivery)
	o.Buffer = cmp.Or(o.Buffer, defaultBuffer)
	return o, nil
}

// connection returns the settings of our connections: they come back by
// themselves, and keep nothing to be sent later while they are down, for that
// would be sent behind what Append has already given up.
func (o *Options) connection() []client.Option {
	opts := []client.Option{
		client.Name("whittle"),
		client.MaxReconnects(-1),
		client.ReconnectWait(250 * time.Millisecond),
		client.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		client.ReconnectBufSize(-1),
		client.PingInterval(10 * time.Second),
		client.MaxPingsOutstanding(2),
	}
	if o.Credentials != "" {
		opts = append(opts, client.UserCredentials(o.Credentials))
	}
	if o.TLS != nil {
		opts = append(opts, client.Secure(o.TLS))
	}
	return opts
}
