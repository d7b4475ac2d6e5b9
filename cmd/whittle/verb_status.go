package main

import (
	"cmp"
	"context"
	"fmt"

	"whittle"
	"whittle/carve/show"
	"whittle/cmdline"
	"whittle/internal/units"
)

type statusVerb struct {
	remote
	Route string `arg:"" optional:"" help:"Only this route, with its guards and time line."`
	JSON  string `name:"json" placeholder:"FILE" help:"Write it as JSON (\"-\": standard output)."`
}

// Help gives the examples.
func (statusVerb) Help() string {
	return `Examples:
  whittle status
  whittle status "POST /Count"
  whittle status --json - | jq '.routes[].evidence.verdict'`
}

// Run prints the routes.
func (v *statusVerb) Run(ctx context.Context, s cmdline.Streams) error {
	client, err := v.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	out := s.Out
	if v.Route != "" {
		r, err := client.Route(ctx, v.Route)
		if err != nil {
			return err
		}
		if v.JSON != "" {
			return cmdline.WriteJSON(s, v.JSON, r)
		}
		show.Route(out, &r)
		show.Detail(out, &r)
		return nil
	}
	all, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if v.JSON != "" {
		return cmdline.WriteJSON(s, v.JSON, all)
	}
	if len(all.Routes) == 0 {
		fmt.Fprintln(out, "No route has a candidate: everything passes through to the monolith.")
	}
	for i := range all.Routes {
		show.Route(out, &all.Routes[i])
	}
	for i := range all.Upstreams {
		show.Upstream(out, &all.Upstreams[i])
	}
	for i := range all.Remarks {
		show.Remark(out, &all.Remarks[i])
	}
	if f := all.Fleet; f != nil {
		fmt.Fprintf(out, "fleet %s: %s, %s leads\n", f.Name, units.Counted(len(f.Members), "gateway"), cmp.Or(f.Leader, "nobody"))
		for _, text := range f.Wrong {
			fmt.Fprintf(out, "  wrong     %s\n", text)
		}
	}
	return nil
}

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
