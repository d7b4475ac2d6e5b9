package main

import (
	"context"
	"os"
	"path/filepath"

	"whittle"
)

type demoVerb struct {
	Count   demoCountVerb   `cmd:"" help:"Carve the count endpoint: refuse the flawed service, prove the mended one, shift, break, roll back, finish."`
	Emojify demoEmojifyVerb `cmd:"" help:"Profile a service that costs ten times what it should, name the line, take it out, and guard against its return."`
	Ingest  demoIngestVerb  `cmd:"" help:"Take events onto a stream, in Go beside Node.js, at 1, 50, 500 and 1000 users, and read every one back."`
}

type demoCountVerb struct {
	Out  string `default:"out" placeholder:"DIR" help:"Where demo-count.json and demo-count.html go (${default})."`
	Keep bool   `help:"Keep the working folder with the gateway's config, state and log."`
}

// Help gives the examples.
func (demoCountVerb) Help() string {
	return `About two minutes on real processes: the Node monolith, the service as it was published, the mended service, and the gateway, each on a free loopback port. Run it inside the repository after "make build" and "make deps" ("make demo" does both).

Examples:
  whittle demo count
  whittle demo count --out /tmp/story --keep`
}

// Run plays the story; its error says which act did not come out.
func (v *demoCountVerb) Run(ctx context.Context, s streams) (err error) {
	work, err := os.MkdirTemp("", "whittle-demo-")
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "make working folder: %w", err)
	}
	screen := newScreen(s)
	defer func() {
		if v.Keep || err != nil {
			screen.say("The gateway's config, state and log are in %s", work)
			return
		}
		_ = os.RemoveAll(work)
	}()
	d, err := newCountDemo(ctx, screen, work)
	if err != nil {
		return err
	}
	defer d.stopAll()
	played := d.play(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	jsonPath, pagePath := filepath.Join(v.Out, "demo-count.json"), filepath.Join(v.Out, "demo-count.html")
	if err := writeJSON(s, jsonPath, d.story); err != nil {
		return err
	}
	if err := writePage(pagePath, d.story.page()); err != nil {
		return err
	}
	screen.say("The figures: %s. The pictures: %s", jsonPath, pagePath)
	return played
}

type demoIngestVerb struct {
	Out   string  `default:"out" placeholder:"DIR" help:"Where demo-ingest.json and demo-ingest.html go (${default})."`
	Scale float64 `default:"20" placeholder:"N" help:"Divide the seed's ramps, a tenth of a second a user, by this (${default})."`
	Full  bool    `help:"The seed's own lengths: ramps of 5, 50 and 100 seconds, about 35 minutes."`
	Loops int64   `placeholder:"N" help:"How many events each user sends (10; 1 where kinesis-local is the API)."`
	Keep  bool    `help:"Keep the working folder with the servers' logs and the embedded log."`
}

// Help gives the examples.
func (demoIngestVerb) Help() string {
	return `About two minutes on real processes: a Kinesis API on loopback (ferrokinesis where it is on PATH, which keeps up; else kinesis-local from npm), the Node.js server, and ingest. Run it inside the repository after "make build" and "make deps".

Examples:
  whittle demo ingest
  whittle demo ingest --full --out story`
}

// Run plays the story; its error says what was not kept.
func (v *demoIngestVerb) Run(ctx context.Context, s streams) (err error) {
	if v.Full {
		v.Scale = 1
	}
	if !(v.Scale >= 1 && v.Scale <= 1000) || v.Loops < 0 || v.Loops > 10_000 {
		return whittle.Errorf(whittle.Invalid, "demo ingest: --scale is 1 to 1000, --loops 1 to 10000")
	}
	work, err := os.MkdirTemp("", "whittle-demo-")
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "make working folder: %w", err)
	}
	screen := newScreen(s)
	defer func() {
		if v.Keep || err != nil {
			screen.say("The servers' logs are in %s", work)
			return
		}
		_ = os.RemoveAll(work)
	}()
	d, err := newIngestDemo(ctx, screen, work, v.Scale, v.Loops)
	if err != nil {
		return err
	}
	defer d.stopAll()
	played := d.play(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	jsonPath, pagePath := filepath.Join(v.Out, "demo-ingest.json"), filepath.Join(v.Out, "demo-ingest.html")
	if err := writeJSON(s, jsonPath, d.story); err != nil {
		return err
	}
	if err := writePage(pagePath, d.story.page()); err != nil {
		return err
	}
	screen.say("The figures: %s. The pictures: %s", jsonPath, pagePath)
	return played
}

type demoEmojifyVerb struct {
	Out  string `default:"out" placeholder:"DIR" help:"Where demo-emojify.json and demo-emojify.html go (${default})."`
	Keep bool   `help:"Keep the working folder with the services' logs and the cache."`
}

// Help gives the examples.
func (demoEmojifyVerb) Help() string {
	return `About a minute on real processes: the emojify api, its cache over gRPC and face detection. Run it inside the repository after "make build".

Examples:
  whittle demo emojify
  whittle demo emojify --out story`
}

// Run plays the story; its error says which act did not come out.
func (v *demoEmojifyVerb) Run(ctx context.Context, s streams) (err error) {
	work, err := os.MkdirTemp("", "whittle-demo-")
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "make working folder: %w", err)
	}
	screen := newScreen(s)
	defer func() {
		if v.Keep || err != nil {
			screen.say("The services' logs are in %s", work)
			return
		}
		_ = os.RemoveAll(work)
	}()
	d, err := newEmojifyDemo(ctx, screen, work)
	if err != nil {
		return err
	}
	defer d.stopAll()
	played := d.play(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	jsonPath, pagePath := filepath.Join(v.Out, "demo-emojify.json"), filepath.Join(v.Out, "demo-emojify.html")
	if err := writeJSON(s, jsonPath, d.story); err != nil {
		return err
	}
	page, err := d.page()
	if err != nil {
		return err
	}
	if err := writePage(pagePath, page); err != nil {
		return err
	}
	screen.say("The figures: %s. The pictures: %s", jsonPath, pagePath)
	return played
}
