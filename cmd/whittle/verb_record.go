package main

import (
	"context"
	"os"

	"whittle"
	"whittle/cmdline"
	"whittle/internal/units"
	"whittle/record/journal"
	"whittle/record/show"
)

// recordVerb keeps exchanges, and is the exchange log on the command line.
type recordVerb struct {
	Live   recordLive   `cmd:"" default:"withargs" help:"Record what passes to a monolith and back (the default)."`
	Ls     recordLs     `cmd:"" help:"List what a log has: routes, targets, responses, times, and what is damaged."`
	Show   recordShow   `cmd:"" help:"Show a log's exchanges; with --follow, as they come."`
	Import recordImport `cmd:"" help:"Add what a browser or a proxy saved (HAR) to a log, redacted."`
}

// Help gives the examples.
func (recordVerb) Help() string {
	return `Without a subcommand, it stands in front of a monolith and records what passes; "whittle record live --help" has the flags. Secrets are taken out before anything reaches the disk.

Examples:
  whittle record --listen :8080 --monolith http://127.0.0.1:3000 --to recorded
  whittle record --monolith http://127.0.0.1:3000 --to recorded --sample 10% --for 10m
  whittle record ls recorded            # what is in it
  whittle record show recorded 17       # one exchange whole
  whittle replay recorded --against http://127.0.0.1:8090`
}

type recordLs struct {
	Log   string `arg:"" placeholder:"DIR" help:"A recording's folder, or one of its segments."`
	Limit int    `bound:">=0" default:"10" help:"How many targets of each route (${default}); 0: all."`
	JSON  string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (recordLs) Help() string {
	return `Reads the whole log: every block, whose checksums must hold, and every exchange. * stands for a part of a path that
looks like an id. Each damage is listed with its place; the rest stays readable. A log may be written to meanwhile.

Exit status: 0 the log is whole; 1 something is damaged.

Examples:
  whittle record ls recorded
  whittle record ls recorded --json - | jq '.routes[] | {route, count}'`
}

// Run lists the log.
func (v *recordLs) Run(ctx context.Context, s cmdline.Streams) error {
	l, err := journal.List(ctx, v.Log)
	if err != nil {
		return err
	}
	if st, err := os.Stat(v.Log); err == nil && !st.IsDir() && l.Entries == 0 && len(l.Damages) > 0 {
		return whittle.Errorf(whittle.Invalid, "record ls: %s is not a segment of a log, or nothing is left of it", v.Log).
			WithHint("name the folder that was recorded into, or one of its .wcap files")
	}
	r := show.NewListing(l)
	if err := cmdline.WriteJSON(s, v.JSON, r); err != nil {
		return err
	}
	if v.JSON != "-" {
		show.PrintListing(s.Out, r, v.Limit)
	}
	if len(l.Damages) == 0 {
		return nil
	}
	screen, lost := cmdline.NewScreen(s, v.JSON), int64(0)
	screen.Say("")
	show.SayDamages(screen, l.Damages)
	for _, d := range l.Damages {
		lost += d.Bytes
	}
	return whittle.Errorf(whittle.FallsShort, "%s: damaged in %s, %s cannot be read", v.Log, units.Counted(len(l.Damages), "place"), units.Size(lost))
}
