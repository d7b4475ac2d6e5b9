package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"whittle"
)

// streams are the command's three files, so that tests can hold them.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// cli is the command line: one field per verb, one file per verb.
type cli struct {
	EnvFile string `default:".env" placeholder:"FILE" help:"File with settings, one NAME=value a line; the environment goes before it. Only ${default} may be missing. \"\" reads none."`

	Serve   serveVerb   `cmd:"" default:"withargs" help:"Take events over HTTP (what ingest does when no verb is named)."`
	Tail    tailVerb    `cmd:"" help:"Print what a stream holds, and what comes."`
	Verify  verifyVerb  `cmd:"" help:"Read a whole stream and check every record."`
	Replay  replayVerb  `cmd:"" help:"Send a stream's events again: to a URL or onto another stream."`
	Move    moveVerb    `cmd:"" help:"Move an embedded log onto another stream, and prove by counts and hashes that it arrived."`
	Version versionVerb `cmd:"" help:"Print the version."`
}

const description = `ingest takes events over HTTP and keeps them on a durable stream: an embedded log, Kafka, Kinesis or NATS JetStream. It answers when they are durable and says how durable they are.

  ingest                                     # port 3000, embedded log in ./ingest-data
  curl -d 'hello' http://localhost:3000/import
  ingest tail

Exit status: 0 as asked; 1 what was checked falls short; 2 bad usage or settings; 3 could not run.`

// exitSignal carries kong's wish to exit (after --help) out of Parse.
type exitSignal int

// Run parses args and runs one verb. It returns the exit status of the process
// and has told the user whatever there is to tell.
func Run(ctx context.Context, args []string, s streams) (status int) {
	if err := loadEnvFile(args); err != nil {
		return report(s.err, err)
	}
	var c cli
	parser, err := kong.New(&c,
		kong.Name("ingest"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}),
		kong.ExplicitGroups(groups),
		kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(exitSignal(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(s),
	)
	if err != nil {
		fmt.Fprintf(s.err, "ingest: %v\n", err)
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
		fmt.Fprintf(s.err, "ingest: %v\n", err)
		fmt.Fprintln(s.err, "Run \"ingest --help\", or \"ingest VERB --help\", for the usage with examples.")
		return whittle.Invalid.ExitStatus()
	}
	return report(s.err, verb.Run())
}

var groups = []kong.Group{
	{Key: "stream", Title: "The stream:"},
	{Key: "kafka", Title: "Kafka:"},
	{Key: "kinesis", Title: "Kinesis:"},
	{Key: "nats", Title: "NATS JetStream:"},
	{Key: "limits", Title: "Limits:"},
}

// report renders an error once, with its hint, and gives the exit status.
func report(w io.Writer, err error) int {
	if err == nil || errors.Is(err, context.Canceled) {
		return 0
	}
	fmt.Fprintf(w, "ingest: %v\n", err)
	if e, ok := errors.AsType[*whittle.Error](err); ok && e.Hint != "" {
		fmt.Fprintf(w, "  %s\n", e.Hint)
	}
	return whittle.CodeOf(err).ExitStatus()
}

type versionVerb struct{}

// Run prints the module's version and the Go release it was built with.
func (versionVerb) Run(s streams) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		fmt.Fprintln(s.out, "ingest (unknown build)")
		return nil
	}
	revision := ""
	for _, kv := range info.Settings {
		if kv.Key == "vcs.revision" {
			revision = " " + kv.Value
		}
	}
	fmt.Fprintf(s.out, "ingest %s%s %s\n", info.Main.Version, revision, info.GoVersion)
	return nil
}
