package main

import (
	"context"
	"fmt"

	"whittle"
	"whittle/cmdline"
)

// budgetNote says why the demo's harm budget is another one than the default.
func (b *rolloutBlock) budgetNote() string {
	return fmt.Sprintf("the harm budget is %d %% of the requests here, not the default of 0.5 %%, for which the demo's traffic is too short", b.budget)
}

// harmPoint is the harm budget as a step began, and what the next step waited for.
type harmPoint struct {
	// Share, Budget, Spent and Bound are in percent.
	Share  float64 `json:"share"`
	Budget float64 `json:"budget"`
	// Spent is at most which part of the route's requests get a wrong response at
	// this share, Bound which part of the candidate's responses are.
	Spent float64 `json:"spent"`
	Bound float64 `json:"bound"`
	// Compared responses to users are what Bound stands on.
	Compared int `json:"compared"`
	// Waits is what the next step waited for, in words.
	Waits string `json:"waits"`
}

func newHarmPoint(r *whittle.RouteStatus) harmPoint {
	h := &r.Harm
	return harmPoint{r.Percent, 100 * h.Budget, 100 * h.Spent, 100 * h.Bound, h.Compared, r.Next}
}

// rated reports whether what a step waits for can be said: with a rate where it
// is a number of responses.
func rated(r *whittle.RouteStatus) bool {
	return r.Harm.Needed == 0 || r.Harm.Minutes >= 0
}

// climb follows the share until it has reached a percentage.
func (d *countDemo) climb(ctx context.Context, to float64) error {
	c := climber{screen: d.screen, block: &d.figures.Rollout, to: to}
	_, err := d.await(ctx, d.size.shift, fmt.Sprintf("a share of %g %%", to), func(r *whittle.RouteStatus) bool {
		c.see(r)
		return r.Percent >= to
	})
	return err
}

// climber says of each step what of the harm budget is spent and what the next
// one waits for.
type climber struct {
	screen *cmdline.Screen
	block  *rolloutBlock
	to     float64
	waits  bool // for the next step: has been said
}

func (c *climber) see(r *whittle.RouteStatus) {
	if r.Percent == 0 {
		return
	}
	s := c.block
	if n := len(s.Shares); n == 0 || s.Shares[n-1] != r.Percent {
		at := newHarmPoint(r)
		s.Shares, s.Harm, c.waits = append(s.Shares, r.Percent), append(s.Harm, at), false
		c.screen.Say("%g %% of the users; of the harm budget of %g %% at most %.2g %% is spent, by %d compared responses to users",
			at.Share, at.Budget, at.Spent, at.Compared)
	}
	if !c.waits && rated(r) && r.Percent < c.to {
		c.waits = true
		s.Harm[len(s.Harm)-1].Waits = r.Next
		c.screen.Say("  next: %s", r.Next)
	}
}
