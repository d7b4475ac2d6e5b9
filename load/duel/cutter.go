package duel

import (
	"time"

	"whittle/load/plan"
)

// blockCutter cuts a plan's arrivals into blocks.
type blockCutter struct {
	next    func() (plan.Arrival, bool)
	ahead   plan.Arrival
	waiting bool // ahead is still to be given
	at      time.Duration
}

// cut returns the arrivals of the next block, relative to its start.
func (c *blockCutter) cut(length time.Duration) []plan.Arrival {
	end := c.at + length
	var out []plan.Arrival
	for {
		if !c.waiting {
			var ok bool
			if c.ahead, ok = c.next(); !ok {
				break
			}
			c.waiting = true
		}
		if c.ahead.At >= end {
			break
		}
		c.waiting = false
		out = append(out, plan.Arrival{At: c.ahead.At - c.at, Phase: c.ahead.Phase})
	}
	c.at = end
	return out
}
