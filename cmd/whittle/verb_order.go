package main

import (
	"cmp"
	"context"
	"os"
	"os/user"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/rollout"
	"whittle/carve/show"
	"whittle/cmdline"
)

// order is what every verb that commands a route has.
type order struct {
	remote
	Route  string `arg:"" help:"The route, as the config names it: \"POST /Count\"."`
	Reason string `short:"m" placeholder:"TEXT" help:"Why; kept in the route's time line."`
}

func (o *order) send(ctx context.Context, s cmdline.Streams, r rollout.Order) error {
	client, err := o.dial()
	if err != nil {
		return err
	}
	defer client.Close()
	r.Reason, r.By = o.Reason, operator()
	after, err := client.Order(ctx, o.Route, r)
	if err != nil {
		return err
	}
	show.Route(s.Out, &after)
	return nil
}

// operator names who is at the keyboard, for the time line.
func operator() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "somebody")
}

type promoteVerb struct {
	order
	Force bool   `help:"Promote although the verdict is UNDECIDED; needs a reason. DIFFERENT cannot be forced."`
	To    string `placeholder:"PERCENT" help:"Refuse unless the next step is this share."`
}

// Help gives the examples.
func (promoteVerb) Help() string {
	return `Takes one step of the config's rollout.steps. It is refused, with the reason, while the verdict is DIFFERENT; while it is UNDECIDED, it has to be forced.

Examples:
  whittle promote "POST /Count"
  whittle promote "POST /Count" --to 25 -m "quiet hour"
  whittle promote "POST /Count" --force -m "trial on staging"`
}

// Run promotes.
func (v *promoteVerb) Run(ctx context.Context, s cmdline.Streams) error {
	var to whittle.Share // 0: any step
	if v.To != "" {
		var err error
		if to, err = config.ParseStep(v.To); err != nil {
			return whittle.Errorf(whittle.Invalid, "--to: %w", err)
		}
	}
	return v.send(ctx, s, rollout.Order{Kind: rollout.Promote, Force: v.Force, To: to})
}

type approveVerb struct {
	order
	Gate string `placeholder:"NAME" help:"Only this gate; it may be a webhook's. Default: all with confirm: manual."`
}

// Help gives the examples.
func (approveVerb) Help() string {
	return `Opens gates before the route's next step (rollout.gates in the config). An approval survives a restart and is good for one step; a fall ends it.

Examples:
  whittle approve "POST /Count" -m "board of Monday"
  whittle approve "POST /Count" --gate qa -m "its server is down, tests were run by hand"`
}

// Run approves.
func (v *approveVerb) Run(ctx context.Context, s cmdline.Streams) error {
	return v.send(ctx, s, rollout.Order{Kind: rollout.Approve, Gate: v.Gate})
}

// orderVerb is a verb that says no more than what is to be done.
type orderVerb struct {
	order
	kind rollout.Kind
}

// Help gives the examples.
func (v orderVerb) Help() string { return orderHelp[v.kind] }

// Run gives the order.
func (v *orderVerb) Run(ctx context.Context, s cmdline.Streams) error {
	return v.send(ctx, s, rollout.Order{Kind: v.kind})
}

var orderHelp = map[rollout.Kind]string{
	rollout.Hold: `Nothing moves by itself until "whittle resume", except a fall to the monolith.

Example:
  whittle hold "POST /Count" -m "release freeze"`,
	rollout.Resume: `Example:
  whittle resume "POST /Count"`,
	rollout.Rollback: `The monolith serves everything from the next request on. The route stays there until it is promoted or reset by hand.

Example:
  whittle rollback "POST /Count" -m "support reports wrong totals"`,
	rollout.Off: `Like a rollback, and nothing is mirrored either. "whittle promote" switches the route on again, in shadow.

Example:
  whittle off "POST /Count"`,
	rollout.Reset: `For a candidate that was fixed behind the same URL: evidence about the old one says nothing about
the new one. The time line and the ledger go on. If the verdict was DIFFERENT, no promotion can be forced until enough
new exchanges are compared; "build:" in the config names another build.

Example:
  whittle reset "POST /Count" -m "deployed 1.4.1"`,
}
