package main

import (
	"context"
	"os"
	"path/filepath"

	"whittle"
	"whittle/cmdline"
)

// demoFlags are the flags of every demo.
type demoFlags struct {
	Out  string `default:"out" placeholder:"DIR" help:"Where the demo's figures (demo-NAME.json) go (${default})."`
	Keep bool   `help:"Keep the working folder with configs, state and logs."`
}

// demo is a worked example on real processes.
type demo interface {
	// play runs it; the error says which part failed.
	play(ctx context.Context) error
	// report gives the figures so far.
	report() any
}

// play runs a demo in a working folder of its own, and writes its figures even where
// an act failed.
func (f *demoFlags) play(ctx context.Context, s cmdline.Streams, name string, begin func(*stage) (demo, error)) (err error) {
	work, err := os.MkdirTemp("", "whittle-demo-")
	if err != nil {
		return whittle.Errorf(whittle.Unavailable, "make working folder: %w", err)
	}
	screen := cmdline.NewScreen(s)
	defer func() {
		if f.Keep || err != nil {
			screen.Say("Configs, state and logs are in %s", work)
			return
		}
		_ = os.RemoveAll(work)
	}()
	root, err := findRepository()
	if err != nil {
		return err
	}
	on := &stage{screen: screen, root: root, work: work}
	defer on.end()
	d, err := begin(on)
	if err != nil {
		return err
	}
	played := d.play(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	jsonPath := filepath.Join(f.Out, "demo-"+name+".json")
	if err := cmdline.WriteJSON(s, jsonPath, d.report()); err != nil {
		return err
	}
	screen.Say("The figures: %s", jsonPath)
	return played
}

type demoCountVerb struct {
	demoFlags
	Short  bool   `help:"A minute: shorter loads and steps, for CI."`
	Behind string `enum:",nginx,envoy" default:"" placeholder:"PROXY" help:"With nginx or envoy before the gateway, which is killed in the middle of the shift."`
}

// Help gives the examples.
func (demoCountVerb) Help() string {
	return `About two minutes on real processes: the Node monolith, the service as it was published, the mended service
and the gateway, each on a free loopback port. Run it inside the repository after "make build" and "make deps" ("make
demo" does all).

Examples:
  demo count
  demo count --short
  demo count --behind nginx
  demo count --out /tmp/demo --keep`
}

// Run runs the demo; its error says which act failed.
func (v *demoCountVerb) Run(ctx context.Context, s cmdline.Streams) error {
	return v.play(ctx, s, "count", func(on *stage) (demo, error) {
		size := countFull
		if v.Short {
			size = countShort
		}
		return newCountDemo(ctx, on, size, v.Behind)
	})
}
