package main

import (
	"context"
	"crypto/tls"
	"time"

	"whittle"
	"whittle/internal/units"
	"whittle/systems/ingest/stream"
	"whittle/systems/ingest/stream/kafka"
	"whittle/systems/ingest/stream/kinesis"
	"whittle/systems/ingest/stream/nats"
)

// streamFlags say which stream, for every verb that opens one.
type streamFlags struct {
	Sink string `group:"stream" env:"INGEST_SINK" default:"embedded" enum:"embedded,kafka,kinesis,nats" help:"Which stream: embedded, kafka, kinesis or nats (${default})."`
	Data string `group:"stream" env:"INGEST_DATA" default:"ingest-data" placeholder:"DIR" help:"Folder of the embedded log (${default})."`

	KafkaBrokers  []string `group:"kafka" env:"KAFKA_BROKERS" placeholder:"HOST:PORT" help:"Brokers to ask first."`
	KafkaTopic    string   `group:"kafka" env:"KAFKA_TOPIC" default:"events" placeholder:"NAME" help:"Topic (${default})."`
	KafkaCreate   bool     `group:"kafka" env:"KAFKA_CREATE" help:"Make the topic where it is missing."`
	KafkaTLS      bool     `group:"kafka" env:"KAFKA_TLS" help:"Speak TLS to the brokers."`
	KafkaSASL     string   `group:"kafka" env:"KAFKA_SASL" placeholder:"MECHANISM" help:"plain, scram-sha-256 or scram-sha-512."`
	KafkaUser     string   `group:"kafka" env:"KAFKA_USER" placeholder:"NAME" help:"User for SASL."`
	KafkaPassword string   `group:"kafka" env:"KAFKA_PASSWORD" placeholder:"WORD" help:"Its password; better in the environment or the .env file."`

	KinesisStream   string `group:"kinesis" env:"KINESIS_STREAM,STREAM_NAME" placeholder:"NAME" help:"Stream, by name or ARN. Credentials: AWS_ACCESS_KEY_ID and so on, as the AWS SDK finds them."`
	KinesisRegion   string `group:"kinesis" env:"AWS_REGION,AWS_DEFAULT_REGION" placeholder:"REGION" help:"AWS region."`
	KinesisEndpoint string `group:"kinesis" env:"KINESIS_ENDPOINT" placeholder:"URL" help:"A Kinesis API that is not Amazon's."`
	KinesisRaw      bool   `group:"kinesis" env:"KINESIS_RAW" help:"Put bare event bodies on the stream, without ids and metadata."`

	NatsURL         string `name:"nats-url" group:"nats" env:"NATS_URL" placeholder:"URL" help:"Servers, separated by commas."`
	NatsStream      string `group:"nats" env:"NATS_STREAM" default:"EVENTS" placeholder:"NAME" help:"Stream (${default})."`
	NatsSubject     string `group:"nats" env:"NATS_SUBJECT" placeholder:"NAME" help:"Subject that the events are published on; the stream's name and .records unless given."`
	NatsCreate      bool   `group:"nats" env:"NATS_CREATE" help:"Make the stream where it is missing."`
	NatsCredentials string `group:"nats" env:"NATS_CREDENTIALS" placeholder:"FILE" help:"A .creds file."`
}

// logFlags are what only a server sets of an embedded log.
type logFlags struct {
	Reserve     units.Bytes   `group:"stream" env:"INGEST_RESERVE" default:"64MiB" placeholder:"SIZE" help:"How much of the embedded log's disk stays free (${default}). 0: none."`
	RetainBytes units.Bytes   `group:"stream" env:"INGEST_RETAIN_BYTES" default:"0" placeholder:"SIZE" help:"Drop the embedded log's oldest events beyond this size. 0: never."`
	RetainAge   time.Duration `group:"stream" env:"INGEST_RETAIN_AGE" default:"0s" placeholder:"TIME" help:"Drop the embedded log's events after ingest has run for so long with them. 0: never."`
}

// reserve is what of the disk stays free, as embedded.Options has it.
func (l *logFlags) reserve() int64 {
	if l.Reserve == 0 {
		return -1 // none, where 0 would be the default
	}
	return int64(l.Reserve)
}

// openSink opens a stream that is not the embedded log.
func (f *streamFlags) openSink(ctx context.Context) (stream.Stream, error) {
	switch f.Sink {
	case "kafka":
		return f.openKafka(ctx)
	case "kinesis":
		if f.KinesisStream == "" {
			return nil, missing("--kinesis-stream", "KINESIS_STREAM or STREAM_NAME")
		}
		return opened(kinesis.Open(ctx, kinesis.Options{
			Stream: f.KinesisStream, Region: f.KinesisRegion, Endpoint: f.KinesisEndpoint,
			Raw: f.KinesisRaw,
		}))
	case "nats":
		if f.NatsURL == "" {
			return nil, missing("--nats-url", "NATS_URL")
		}
		o := nats.Options{URL: f.NatsURL, Stream: f.NatsStream, Subject: f.NatsSubject, Credentials: f.NatsCredentials}
		if f.NatsCreate {
			o.Create = &nats.Create{}
		}
		return opened(nats.Open(ctx, o))
	}
	return nil, whittle.Errorf(whittle.Internal, "open stream %q", f.Sink)
}

func (f *streamFlags) openKafka(ctx context.Context) (stream.Stream, error) {
	if len(f.KafkaBrokers) == 0 {
		return nil, missing("--kafka-brokers", "KAFKA_BROKERS")
	}
	o := kafka.Options{
		Brokers: f.KafkaBrokers, Topic: f.KafkaTopic, ClientID: "ingest",
		SASL: kafka.SASL{Mechanism: f.KafkaSASL, User: f.KafkaUser, Password: f.KafkaPassword},
	}
	if f.KafkaCreate {
		o.Create = &kafka.Create{}
	}
	if f.KafkaTLS {
		o.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	return opened(kafka.Open(ctx, o))
}

func missing(flag, variables string) error {
	return whittle.Errorf(whittle.Invalid, "%s is missing", flag).WithHint("give it, or set " + variables + " in the environment or the .env file")
}

// opened keeps a nil of an adapter's own type from becoming a stream that is
// not nil.
func opened[S stream.Stream](s S, err error) (stream.Stream, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// closeTimeout is how long a stream may take to close.
const closeTimeout = 30 * time.Second

// closeQuietly closes a stream that was only read from.
func closeQuietly(s stream.Stream) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = s.Close(ctx) // nothing of ours is on its way
}
