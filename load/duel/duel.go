// Package duel compares the performance of two targets: by one plan whose blocks
// are sent to both in random order, or by whole runs at several numbers of users.
package duel

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"whittle"
	"whittle/load"
	"whittle/load/cpu"
	"whittle/load/plan"
)

// Duel compares two targets under one schedule: the plan's arrivals are cut into
// blocks, and each block is sent to both targets, one after the other, in random
// order. A block begins when every user of the previous one has ended, so that a
// queue at one target does not affect the other.
type Duel struct {
	Plan *plan.Plan
	A, B Side
	// Length is how much of the plan is sent to each target. 0: all of an open
	// plan; a minute of a closed one.
	Length time.Duration
	// Block is a block's length. 0: a 120th of Length, within 250 ms and 5 s, but
	// longer where fewer than 20 users would arrive, up to a 24th of Length.
	Block time.Duration
	// Warmup is how long each target is sent the beginning of the plan before
	// anything is counted. 0: 2 s; negative: none.
	Warmup time.Duration
	// Options are those of a run. Target, Watch, WatchURLs and OnProgress are
	// not used: each side has its own.
	Options load.Options
	// OnProgress is called after each block, from the caller's goroutine. Nil:
	// not called.
	OnProgress func(Progress)
}

// Side is one of the two targets.
type Side struct {
	// Target replaces the plan's own base URL. Empty: the plan's.
	Target    string
	Watch     []cpu.Process
	WatchURLs []string
	// OnResult is called for this side's requests in place of the options' own. Nil:
	// that one is.
	OnResult func(load.Result)
}

// of returns a run's options for this side.
func (c Side) of(o load.Options) load.Options {
	o.Target, o.Watch, o.WatchURLs = c.Target, c.Watch, c.WatchURLs
	if c.OnResult != nil {
		o.OnResult = c.OnResult
	}
	return o
}

// Progress is the progress of a comparison.
type Progress struct {
	// Done and Pairs are the pairs of blocks so far and in all; 0 while warming up.
	Done, Pairs int
	// Left is the time for the rest if nothing is late.
	Left time.Duration
	// A and B are the medians of the last pair, in milliseconds.
	A, B float64
}

// String is the progress on one line.
func (p Progress) String() string {
	if p.Done == 0 {
		return fmt.Sprintf("pair 0 of %d  %s left", p.Pairs, p.Left.Round(time.Second))
	}
	return fmt.Sprintf("pair %d of %d  medians of the last: A %.3g ms  B %.3g ms  %s left", p.Done, p.Pairs, p.A, p.B, p.Left.Round(time.Second))
}

// The bounds of blocks.
const (
	minBlock        = 250 * time.Millisecond
	maxDefaultBlock = 5 * time.Second
	defaultBlocks   = 120
	minBlocks       = 24 // the number of stretches of the intervals
	minBlockUsers   = 20
	maxBlock        = time.Minute
	maxPairs        = 1000
	maxLength       = 366 * 24 * time.Hour
	closedTime      = time.Minute
	warmup          = 2 * time.Second
)

// Run sends the plan to both targets and returns when all blocks are done. When
// ctx ends, the current pair is discarded and the comparison covers the pairs
// before it; that is not an error.
func (d Duel) Run(ctx context.Context) (*Comparison, error) {
	d.Options = d.Options.WithDefaults()
	if err := d.setDurations(); err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(d.Options.Seed, 0x6475656c))
	var turns [2]*sideRun
	for i, side := range []Side{d.A, d.B} {
		r, err := load.NewRunner(d.Plan, side.of(d.Options))
		if err != nil {
			return nil, err
		}
		turns[i] = &sideRun{Blocks: r.Blocks(d.Block), seed: d.Options.Seed}
		defer turns[i].Close()
	}
	if err := d.warm(ctx, turns); err != nil {
		return nil, err
	}
	started := d.Options.Now()
	pairs := max(int(d.Length/d.Block), 1)
	schedule := d.newCutter()
	for done := 0; done < pairs && ctx.Err() == nil; done++ {
		d.progress(done, pairs, turns)
		ok, err := d.pair(ctx, turns, schedule.cut(d.Block), rng.IntN(2), done)
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
	}
	early := ctx.Err() != nil
	var failed []string
	for i, t := range turns {
		if warning := t.Close(); warning != "" {
			failed = append(failed, "target "+"AB"[i:i+1]+": "+warning)
		}
	}
	c := d.comparison(turns, started, early, rng)
	c.Warnings = append(c.Warnings, failed...)
	return c, nil
}

// setDurations sets the lengths of plan, blocks and warm-up.
func (d *Duel) setDurations() error {
	if dry := d.Plan.DealtOnce; dry != "" {
		return whittle.Errorf(whittle.Invalid, "compare: %s deals each row once: the quicker target would come to its end first, and get other requests in the blocks behind", dry).
			WithHint("set recycle to true in the plan, which changes nothing while there are rows left; or compare whole runs (--users N --runs 3), which begin with the first row each")
	}
	closed := d.Plan.Closed()
	if d.Length == 0 {
		d.Length = d.Plan.Length()
		if closed {
			d.Length = closedTime
		}
	}
	if d.Length <= 0 || d.Length > maxLength {
		return whittle.Errorf(whittle.Invalid, "compare: a plan of %v cannot be cut into blocks", d.Length).
			WithHint("give a rate and a duration, or a plan whose phases have them")
	}
	switch pairs := d.Length / max(d.Block, 1); {
	case d.Block > d.Length:
		return whittle.Errorf(whittle.Invalid, "compare: a block of %v is longer than the %v that each target gets", d.Block, d.Length)
	case d.Block > 0 && pairs > maxPairs:
		return whittle.Errorf(whittle.Invalid, "compare: blocks of %v are %d pairs in the %v that each target gets, and at most %d are compared", d.Block, pairs, d.Length, maxPairs).
			WithHint(fmt.Sprintf("give --block %v or more", (d.Length / maxPairs).Round(time.Millisecond)))
	default:
	}
	if d.Block == 0 {
		d.Block = min(max(d.Length/defaultBlocks, minBlock), maxDefaultBlock)
		if n := d.Plan.Planned(); n > 0 && !closed {
			group := time.Duration(float64(d.Plan.Length()) / float64(n) * minBlockUsers)
			d.Block = max(d.Block, min(group, d.Length/minBlocks))
		}
	}
	d.Block = max(min(d.Block, d.Length), d.Length/maxPairs)
	if d.Block < 10*time.Millisecond || d.Block > maxBlock {
		return whittle.Errorf(whittle.Invalid, "compare: blocks of %v are not within 10 ms and %v", d.Block, maxBlock)
	}
	if d.Warmup == 0 {
		d.Warmup = warmup
	}
	return nil
}

// newCutter cuts the plan's arrivals from the first one on.
func (d *Duel) newCutter() *blockCutter {
	pacer := plan.NewPacer(d.Plan.Phases, rand.New(rand.NewPCG(d.Options.Seed, 0x70616365)))
	return &blockCutter{next: pacer.Next}
}

// warm sends the beginning of the plan to both targets, in blocks.
func (d *Duel) warm(ctx context.Context, turns [2]*sideRun) error {
	s := d.newCutter()
	for at := time.Duration(0); at < d.Warmup; at += d.Block {
		arrivals := s.cut(d.Block)
		for _, t := range turns {
			if _, err := t.runBlock(ctx, arrivals, 0); err != nil {
				return err
			}
			if ctx.Err() != nil {
				return nil //nolint:nilerr // ending early is not an error
			}
		}
	}
	return nil
}

// pair sends one block to each target, and counts both if both were completed.
func (d *Duel) pair(ctx context.Context, turns [2]*sideRun, arrivals []plan.Arrival, first, number int) (bool, error) {
	var results [2]*blockResult
	for _, i := range []int{first, 1 - first} {
		r, err := turns[i].runBlock(ctx, arrivals, uint64(number)+1)
		if err != nil {
			return false, err
		}
		if ctx.Err() != nil {
			return false, nil //nolint:nilerr // ending early is not an error
		}
		results[i] = r
	}
	for i, r := range results {
		turns[i].Keep()
		turns[i].blocks = append(turns[i].blocks, *r)
	}
	return true, nil
}

func (d *Duel) progress(done, pairs int, turns [2]*sideRun) {
	if d.OnProgress == nil {
		return
	}
	p := Progress{Done: done, Pairs: pairs, Left: time.Duration(pairs-done) * 2 * (d.Block + pauseAfterBlock)}
	if done > 0 {
		last := func(t *sideRun) float64 { return t.blocks[len(t.blocks)-1].sample.Quantile(.5) }
		p.A, p.B = last(turns[0]), last(turns[1])
	}
	d.OnProgress(p)
}

// pauseAfterBlock is a pause for the work that a target does after its last
// response.
const pauseAfterBlock = 20 * time.Millisecond

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
