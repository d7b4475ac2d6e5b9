package main

import (
	"cmp"
	"context"
	"os"

	"whittle/carve/admin"
	"whittle/carve/config"

	"github.com/alecthomas/kong"

	"whittle/carve/rollout"
	"whittle/cmdline"
)

// cli is the command line: one field per verb, one file per verb.
type cli struct {
	Run      runVerb     `cmd:"" help:"Run the gateway with its admin API."`
	Check    checkVerb   `cmd:"" help:"Validate a config, and show every route with its defaults."`
	Status   statusVerb  `cmd:"" help:"Show the routes of a running gateway: share, verdict, ledger, guards."`
	Fleet    fleetVerb   `cmd:"" help:"List the gateways of a fleet, and say what is wrong with it."`
	Diffs    diffsVerb   `cmd:"" help:"Show what differs on a route, how often and by how much, with samples."`
	Promote  promoteVerb `cmd:"" help:"Take a route one step further."`
	Hold     orderVerb   `cmd:"" help:"Keep a route's share where it is."`
	Resume   orderVerb   `cmd:"" help:"End a hold: the route goes on by itself."`
	Approve  approveVerb `cmd:"" help:"Open the gates before a route's next step by hand."`
	Rollback orderVerb   `cmd:"" help:"Send all of a route's users back to the monolith, now."`
	Off      orderVerb   `cmd:"" help:"Switch a route's candidate off: no mirroring, no share."`
	Reset    orderVerb   `cmd:"" help:"Discard a route's evidence and start afresh in shadow, once the candidate is fixed."`
	Preview  previewVerb `cmd:"" help:"Sign a token that sends a tester's requests to the candidate at any share."`
	Load     loadVerb    `cmd:"" help:"Load a server by an Artillery or JMeter plan, or by flags, and report the latency that users saw."`
	Worker   workerVerb  `cmd:"" help:"Wait to run a part of a load plan, together with other machines."`
	Compare  compareVerb `cmd:"" help:"Compare two targets under one schedule: ratios with intervals, and a verdict."`
	Profile  profileVerb `cmd:"" help:"Find the line of a Go or Node service that uses the CPU, compare profiles, and guard CPU per request."`
	Find     findVerb    `cmd:"" help:"Rank a service's endpoints by what they cost: which to carve first."`
	Record   recordVerb  `cmd:"" help:"Record a monolith's traffic, redacted; list, check and show recordings; import HAR files."`
	Replay   replayVerb  `cmd:"" help:"Send recorded requests to a candidate and compare its responses with the recorded ones."`
	New      newVerb     `cmd:"" help:"Make a contract and a Go service from recorded exchanges, a HAR file, an OpenAPI document or a .proto file."`
	Schema   schemaVerb  `cmd:"" help:"Print the JSON Schema of whittle.yaml, for editors."`

	Health  healthVerb  `cmd:"" help:"Ask a running gateway whether it is ready: for health checks of containers."`
	Version versionVerb `cmd:"" help:"Print the version, commit, date and Go release."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`
}

const description = `whittle moves one hot endpoint out of a monolith, and checks on live traffic that its replacement behaves the same before users depend on it.

It shadows the replacement, decides at a stated error rate whether the responses are the same, and shifts users in steps, or back.

Exit status: 0 as asked; 1 the thing measured falls short; 2 bad usage or a bad config; 3 could not run.`

// Run parses args and runs one verb. It returns the exit status of the process
// and has printed every message for the user.
func Run(ctx context.Context, args []string, s cmdline.Streams) (status int) {
	c := cli{
		Hold: orderVerb{kind: rollout.Hold}, Resume: orderVerb{kind: rollout.Resume}, Rollback: orderVerb{kind: rollout.Rollback},
		Off: orderVerb{kind: rollout.Off}, Reset: orderVerb{kind: rollout.Reset},
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	p := cmdline.Program{
		Name: "whittle", Description: description, Verbs: &c, Bind: []any{s},
		Options: []kong.Option{kong.UsageOnError(), kong.Vars{"version": version()}, kong.ConfigureHelp(kong.HelpOptions{Compact: true})},
		Out:     s.Out, Err: s.Err,
	}
	return p.Run(ctx, args)
}

// remote says which running gateway a verb talks to.
type remote struct {
	Admin  string `env:"WHITTLE_ADMIN" placeholder:"ADDRESS" help:"The gateway's admin address. Default: the config's, else 127.0.0.1:8081."`
	Token  string `env:"WHITTLE_TOKEN" placeholder:"TOKEN" help:"The admin API's token. Default: the config's, if it asks for one."`
	Config string `short:"c" placeholder:"FILE" help:"Take address and token from this config. Default: whittle.yaml, where there is one."`
}

const (
	defaultAdmin  = "127.0.0.1:8081"
	defaultConfig = "whittle.yaml"
)

// dial makes a client: what was said on the command line goes before the
// config, and the config before the default.
func (r *remote) dial() (*admin.Client, error) {
	path := r.Config
	if path == "" {
		if _, err := os.Stat(defaultConfig); err == nil {
			path = defaultConfig
		}
	}
	if path != "" && (r.Admin == "" || r.Token == "") {
		f, err := config.Load(path)
		switch {
		case err == nil:
			r.Admin, r.Token = cmp.Or(r.Admin, f.Admin), cmp.Or(r.Token, f.AdminToken)
		case r.Config != "":
			return nil, err
		}
	}
	return admin.Dial(cmp.Or(r.Admin, defaultAdmin), r.Token)
}
