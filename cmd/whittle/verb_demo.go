package main

import (
	"context"
	"os"
	"path/filepath"

	"whittle"
)

type demoVerb struct {
	Count demoCountVerb `cmd:"" help:"Carve the count endpoint: refuse the flawed service, prove the mended one, shift, break, roll back, finish."`
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
