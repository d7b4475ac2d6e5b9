package main

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"whittle/cmdline"
)

// streams are the command's files, so that tests can hold them.
type streams struct{ out, err io.Writer }

// cli is the command line: one field per verb, one file per verb. Every flag
// is also EMOJIFY_NAME in the environment.
type cli struct {
	All     allVerb     `cmd:"" default:"withargs" help:"All of it in one process (what emojify does when no verb is named)."`
	API     apiVerb     `cmd:"" name:"api" help:"The public HTTP API."`
	Cache   cacheVerb   `cmd:"" help:"The cache of finished pictures, over gRPC."`
	Facebox faceboxVerb `cmd:"" help:"Face detection, over HTTP in FaceBox's shape."`
}

const description = `emojify covers the faces in pictures with emoji.

  emojify                                    # http://localhost:9090, all in one process
  curl -d https://example.com/faces.jpg http://localhost:9090/emojify/

Every flag is also read from the environment: EMOJIFY_CACHE_TIMEOUT for --cache-timeout.

Exit status: 0 ended as asked; 2 bad usage or settings; 3 could not run.`

var groups = []kong.Group{
	{Key: "cache", Title: "The cache:"},
	{Key: "facebox", Title: "Face detection:"},
	{Key: "limits", Title: "Limits:"},
	{Key: "faults", Title: "What is here to be found:"},
}

// Run parses args and runs one verb until ctx ends. It returns the exit status
// of the process and has printed every message for the user.
func Run(ctx context.Context, args []string, s streams) (status int) {
	var c cli
	p := cmdline.Program{
		Name: "emojify", Description: description, Verbs: &c, Bind: []any{s},
		Options: []kong.Option{
			kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
			kong.ExplicitGroups(groups), kong.DefaultEnvars("EMOJIFY"),
		},
		Out: s.out, Err: s.err,
	}
	return p.Run(ctx, args)
}

// processFlags are those of every verb.
type processFlags struct {
	Drain    time.Duration `default:"10s" placeholder:"TIME" help:"How long work in flight may take after SIGTERM (${default})."`
	LogLevel slog.Level    `default:"INFO" placeholder:"LEVEL" help:"DEBUG, INFO, WARN or ERROR (${default})."`
	LogJSON  bool          `name:"log-json" help:"Log in JSON."`
}
