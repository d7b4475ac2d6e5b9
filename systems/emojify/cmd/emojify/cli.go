package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"whittle"
)

// streams are the command's files, so that tests can hold them.
type streams struct{ out, err io.Writer }

// cli is the command line: one field per verb, one file per verb. Every flag
// is also EMOJIFY_NAME in the environment.
type cli struct {
	All     allVerb     `cmd:"" default:"withargs" help:"All of it in one process (what emojify does when no verb is named)."`
	API     apiVerb     `cmd:"" name:"api" help:"The public HTTP API and the page."`
	Cache   cacheVerb   `cmd:"" help:"The cache of finished pictures, over gRPC."`
	Facebox faceboxVerb `cmd:"" help:"Face detection, over HTTP in FaceBox's shape."`
}

const description = `emojify covers the faces in pictures with emoji.

  emojify                                    # http://localhost:9090, all in one process
  curl -d https://example.com/faces.jpg http://localhost:9090/emojify/

Every flag is also read from the environment: EMOJIFY_CACHE_DELAY for --cache-delay.

Exit status: 0 ended as asked; 2 bad usage or settings; 3 could not run.`

var groups = []kong.Group{
	{Key: "cache", Title: "The cache:"},
	{Key: "facebox", Title: "Face detection:"},
	{Key: "limits", Title: "Limits:"},
	{Key: "faults", Title: "What is here to be found:"},
}

// exitSignal carries kong's wish to exit (after --help) out of Parse.
type exitSignal int

// Run parses args and runs one verb until ctx ends. It returns the exit status
// of the process and has told the user whatever there is to tell.
func Run(ctx context.Context, args []string, s streams) (status int) {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("emojify"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.ExplicitGroups(groups),
		kong.DefaultEnvars("EMOJIFY"),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(exitSignal(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		fmt.Fprintf(s.err, "emojify: %v\n", err)
		return whittle.Internal.ExitStatus()
	}
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exitSignal)
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	verb, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(s.err, "emojify: %v\n", err)
		fmt.Fprintln(s.err, "Run \"emojify --help\", or \"emojify VERB --help\", for the usage with examples.")
		return whittle.Invalid.ExitStatus()
	}
	return told(s.err, verb.Run())
}

// told renders an error once, with its hint, and gives the exit status.
func told(w io.Writer, err error) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintf(w, "emojify: %v\n", err)
	if e, ok := errors.AsType[*whittle.Error](err); ok && e.Hint != "" {
		fmt.Fprintf(w, "  %s\n", e.Hint)
	}
	return whittle.CodeOf(err).ExitStatus()
}

// processFlags are those of every verb.
type processFlags struct {
	Drain    time.Duration `default:"10s" placeholder:"TIME" help:"How long work under way may take after SIGTERM (${default})."`
	LogLevel slog.Level    `default:"INFO" placeholder:"LEVEL" help:"DEBUG, INFO, WARN or ERROR (${default})."`
	LogJSON  bool          `name:"log-json" help:"Log in JSON."`
}

func (p *processFlags) logger(w io.Writer) *slog.Logger {
	o := &slog.HandlerOptions{Level: p.LogLevel}
	if p.LogJSON {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
