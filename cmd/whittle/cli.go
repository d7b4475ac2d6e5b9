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
	Check    checkVerb   `cmd:"" help:"Validate a config and show every route as it will be treated."`
	Status   statusVerb  `cmd:"" help:"Show the routes of a running gateway: share, verdict, ledger, guardrails."`
	Fleet    fleetVerb   `cmd:"" help:"List the gateways of a fleet, and say what is wrong with it."`
	Diffs    diffsVerb   `cmd:"" help:"Show what differs on a route, by how much, in how many of how many, with samples."`
	Promote  promoteVerb `cmd:"" help:"Take a route one step further."`
	Hold     orderVerb   `cmd:"" help:"Keep a route's share where it is."`
	Resume   orderVerb   `cmd:"" help:"Let a held route go on by itself."`
	Approve  approveVerb `cmd:"" help:"Open the gates before a route's next step by hand."`
	Rollback orderVerb   `cmd:"" help:"Give a route back to the monolith, now."`
	Off      orderVerb   `cmd:"" help:"Switch a route's candidate off: no mirroring, no share."`
	Reset    orderVerb   `cmd:"" help:"Begin a route's evidence afresh, in shadow: the candidate has been mended."`
	Preview  previewVerb `cmd:"" help:"Sign a token by which a tester's requests go to a route's candidate at any share."`
	Load     loadVerb    `cmd:"" help:"Load a server by an Artillery or JMeter plan, or by flags, and report the latency that its users saw."`
	Worker   workerVerb  `cmd:"" help:"Wait for orders to run parts of load plans, with other machines."`
	Compare  compareVerb `cmd:"" help:"Compare two targets under one schedule: ratios with intervals, and a verdict."`
	Profile  profileVerb `cmd:"" help:"Say which line of a Go or Node service uses the CPU, and what changed; guard it."`
	Find     findVerb    `cmd:"" help:"Rank a service's endpoints by what they cost: which to carve first."`
	Record   recordVerb  `cmd:"" help:"Record what passes to a monolith, redacted; look at it, check it, take it from and to HAR files."`
	Replay   replayVerb  `cmd:"" help:"Send recorded exchanges to a candidate and compare its answers with the recorded ones."`
	New      newVerb     `cmd:"" help:"Make a contract and a whole service of recorded exchanges, a HAR file, an OpenAPI document or a .proto file."`
	Demo     demoVerb    `cmd:"" help:"Say where the worked systems' demos are."`
	Schema   schemaVerb  `cmd:"" help:"Print the JSON Schema of whittle.yaml, for editors."`

	Man        manVerb        `cmd:"" help:"Print the manual page: whittle man | man -l -"`
	Completion completionVerb `cmd:"" help:"Print what a shell sources to complete verbs and flags."`
	Health     healthVerb     `cmd:"" help:"Ask a running gateway whether it is ready: for health checks of containers."`
	Version    versionVerb    `cmd:"" help:"Print the version, commit, date and Go release."`

	ShowVersion kong.VersionFlag `name:"version" help:"Print the version and exit."`
}

const description = `whittle carves a hot endpoint out of a monolith into a fast service, and tests on real traffic, at a stated error rate and within stated margins, that the replacement gives the same responses and costs less before users depend on it.

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
	return p.Run(ctx, secondDash(args))
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
