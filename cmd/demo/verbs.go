//go:build !demo_count

package main

import (
	"context"

	"whittle"
	"whittle/cmdline"
)

type demoVerb struct {
	Count   demoCountVerb   `cmd:"" help:"Carve the count endpoint: refuse flawed services, prove the mended one, shift, break, roll back, finish."`
	Emojify demoEmojifyVerb `cmd:"" help:"Profile a service that costs ten times what it should, name the line, take it out, and guard against its return."`
	Ingest  demoIngestVerb  `cmd:"" help:"Take events onto a stream, in Go next to Node.js, at 1, 50, 500 and 1000 users, and read every one back."`
}

type demoIngestVerb struct {
	demoFlags
	Scale float64 `default:"20" placeholder:"N" help:"Divide the seed's ramps, a tenth of a second a user, by this (${default})."`
	Full  bool    `help:"The seed's own lengths: ramps of 5, 50 and 100 seconds, about 35 minutes."`
	Short bool    `help:"1 and 20 users, each once, with 3 events each: a quick try, for CI."`
	Loops int64   `placeholder:"N" help:"How many events each user sends (10; 1 where kinesis-local is the API)."`
}

// Help gives the examples.
func (demoIngestVerb) Help() string {
	return `Some minutes on real processes: a Kinesis API on loopback, the Node.js server by PutRecord as the seed has
it and by PutRecords, and ingest. So batching and language are told apart: the second Node.js puts events together by
ingest's own rule. Each server is warmed up before each number of users is measured, and the seed's ramps are all
divided by the same number. Run it inside the repository after "make build" and "make deps".

The API is ferrokinesis where it is installed: the program that FERROKINESIS names in the environment, else the one on
PATH or in ~/.cargo/bin (cargo install ferrokinesis --version 0.7.0 --locked). It keeps up with the servers. Otherwise
it is kinesis-local, which "make deps" installs and which takes about 20 ms for a single record: the figures then say
more of the API than of the servers, and each user sends one event in place of ten. The demo says which one it starts.

Examples:
  demo ingest
  demo ingest --short
  FERROKINESIS=/opt/ferrokinesis demo ingest
  demo ingest --full --out figures`
}

// Run runs the demo; its error says which promise was not kept.
func (v *demoIngestVerb) Run(ctx context.Context, s cmdline.Streams) error {
	if v.Full {
		v.Scale = 1
	}
	if !(v.Scale >= 1 && v.Scale <= 1000) || v.Loops < 0 || v.Loops > 10_000 {
		return whittle.Errorf(whittle.Invalid, "demo ingest: --scale is 1 to 1000, --loops 1 to 10000")
	}
	return v.play(ctx, s, "ingest", func(on *stage) (demo, error) {
		size := ingestSeed
		if v.Short {
			size = ingestShort
		}
		return newIngestDemo(ctx, on, v.Scale, v.Loops, size)
	})
}

type demoEmojifyVerb struct {
	demoFlags
	Short bool `help:"Half as long: shorter loads and profiles, for CI."`
}

// Help gives the examples.
func (demoEmojifyVerb) Help() string {
	return `About a minute on real processes: the emojify api, its cache over gRPC and face detection. Run it inside the repository after "make build".

Examples:
  demo emojify
  demo emojify --short
  demo emojify --out figures`
}

// Run runs the demo; its error says which act failed.
func (v *demoEmojifyVerb) Run(ctx context.Context, s cmdline.Streams) error {
	return v.play(ctx, s, "emojify", func(on *stage) (demo, error) {
		return newEmojifyDemo(ctx, on, v.Short)
	})
}
