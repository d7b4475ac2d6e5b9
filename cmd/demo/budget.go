package main

import (
	"context"
	"fmt"

	"whittle"
	"whittle/cmdline"
)

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
	s, h := c.block, &r.Harm
	if n := len(s.Shares); n == 0 || s.Shares[n-1] != r.Percent {
		at := harmPoint{r.Percent, 100 * h.Budget, 100 * h.Spent, 100 * h.Bound, h.Compared, r.Next}
		s.Shares, s.Harm, c.waits = append(s.Shares, r.Percent), append(s.Harm, at), false
		c.screen.Say("%g %% of the users; of the harm budget of %g %% at most %.2g %% is spent, by %d compared responses to users",
			at.Share, at.Budget, at.Spent, at.Compared)
	}
	rated := h.Needed == 0 || h.Minutes >= 0 // a number of responses is said with their rate
	if !c.waits && rated && r.Percent < c.to {
		c.waits = true
		s.Harm[len(s.Harm)-1].Waits = r.Next
		c.screen.Say("  next: %s", r.Next)
	}
}
