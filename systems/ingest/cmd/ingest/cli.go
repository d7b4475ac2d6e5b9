package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/alecthomas/kong"

	"whittle"
	"whittle/cmdline"
	"whittle/systems/ingest/stream"
)

// streams are the command's three files, so that tests can hold them.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// corrupt says that a record is, and has the reading go on.
func (s streams) corrupt(e *stream.CorruptError) error {
	fmt.Fprintf(s.err, "ingest: %v\n", e)
	return nil
}

// cli is the command line: one field per verb, one file per verb.
type cli struct {
	EnvFile string `default:".env" placeholder:"FILE" help:"File with settings, one NAME=value a line; the environment goes before it. Only ${default} may be missing. \"\" reads none."`

	Serve   serveVerb   `cmd:"" default:"withargs" help:"Take events over HTTP (what ingest does when no verb is named)."`
	Tail    tailVerb    `cmd:"" help:"Print what an embedded log holds, and what comes."`
	Verify  verifyVerb  `cmd:"" help:"Read a whole embedded log and check every bit."`
	Dead    deadVerb    `cmd:"" help:"List what was rejected, and send it again."`
	Version versionVerb `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`
}

// AfterApply refuses a flag of a stream that is not the one: who forgot --sink would have
// the events in a log on this machine. What the environment says for other verbs may stay.
func (v *cli) AfterApply(c *kong.Context) error {
	_, v.Serve.sinkSaid = os.LookupEnv("INGEST_SINK")
	is := map[string]string{}
	for _, f := range c.Flags() {
		is[f.Name] = fmt.Sprint(c.FlagValue(f))
	}
	for _, p := range c.Path {
		if p.Flag == nil || p.Flag.Group == nil {
			continue
		}
		v.Serve.sinkSaid = v.Serve.sinkSaid || p.Flag.Name == "sink"
		name, of, sink := p.Flag.Name, p.Flag.Group.Key, is["sink"]
		switch {
		case slices.Contains([]string{"kafka", "kinesis", "nats"}, of) && sink != of:
			return whittle.Errorf(whittle.Invalid, "--%s does nothing where the stream is %s: give --sink %s, or leave it out", name, sink, of)
		case slices.Contains([]string{"retain-bytes", "retain-age"}, name) && sink != "embedded" && is["log-first"] == "":
			return whittle.Errorf(whittle.Invalid, "--%s does nothing where the stream is %s, without --log-first: leave it out", name, sink)
		case name == "dead-bytes" && is["dead"] == noDead:
			return whittle.Errorf(whittle.Invalid, "--dead-bytes does nothing with --dead %s: leave one out", noDead)
		}
	}
	return nil
}

const description = `ingest takes events over HTTP and keeps them on a durable stream: an embedded log, Kafka,
Kinesis or NATS JetStream. It responds when they are durable and says how durable they are.

  ingest                                     # port 3000, embedded log in ./ingest-data
  curl -d 'hello' http://localhost:3000/import
  ingest tail

Exit status: 0 as asked; 1 what was checked falls short; 2 bad usage or settings; 3 could not run.`

// Run parses args and runs one verb. It returns the exit status of the process
// and has printed every message for the user.
func Run(ctx context.Context, args []string, s streams) (status int) {
	var c cli
	p := cmdline.Program{
		Name: "ingest", Description: description, Verbs: &c, Bind: []any{s},
		Options: []kong.Option{kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true}), kong.Vars{"version": cmdline.Version("ingest")}, kong.ExplicitGroups(groups)},
		Out:     s.out, Err: s.err,
	}
	if len(args) > 0 && args[0] == "help" { // as people type it
		args = append(slices.Clone(args[1:]), "--help")
	}
	if err := loadEnvFile(args); err != nil {
		return p.Report(err)
	}
	return p.Run(ctx, args)
}

var groups = []kong.Group{
	{Key: "stream", Title: "The stream:"},
	{Key: "kafka", Title: "Kafka:"},
	{Key: "kinesis", Title: "Kinesis:"},
	{Key: "nats", Title: "NATS JetStream:"},
	{Key: "limits", Title: "Limits:"},
}

type versionVerb struct{}

// Run prints the module's version and the Go release it was built with.
func (versionVerb) Run(s streams) error {
	fmt.Fprintln(s.out, cmdline.Version("ingest"))
	return nil
}
