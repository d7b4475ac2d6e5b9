package main

import (
	"context"

	"whittle"
	"whittle/carve/show"
	"whittle/cmdline"
)

type diffsVerb struct {
	remote
	Route string `arg:"" help:"The route, as the config names it: \"POST /Count\"."`
	JSON  string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (diffsVerb) Help() string {
	return `Exits with status 1 while the verdict is DIFFERENT, so that a script can stop there.

Examples:
  whittle diffs "POST /Count"
  whittle diffs "GET /users/{id}" --json - | jq '.findings[].path'`
}

// Run prints the findings of one route.
func (v *diffsVerb) Run(ctx context.Context, s cmdline.Streams) error {
	client, err := v.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := client.Route(ctx, v.Route)
	if err != nil {
		return err
	}
	if err := cmdline.WriteJSON(s, v.JSON, r.Verdict); err != nil {
		return err
	}
	if v.JSON == "" {
		show.Findings(s.Out, &r.Verdict)
		show.Queries(s.Out, r.Guards)
	}
	if r.Verdict.State == whittle.Different {
		return whittle.Errorf(whittle.FallsShort, "%s: the candidate is DIFFERENT", r.Route)
	}
	return nil
}
