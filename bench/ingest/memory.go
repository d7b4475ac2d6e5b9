package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"whittle/bench/table"
)

// mostResident is how much memory the service may have, in bytes.
const mostResident = 80 << 20

// steady follows the service's memory under a thousand connections that send as
// fast as they can.
func steady(ctx context.Context, s settings, h *subjects, conclude adder) error {
	x, ok := h.find(ours)
	if !ok {
		return errors.New("the service is not running")
	}
	list := scenarios()
	c := list[slices.IndexFunc(list, func(c scenario) bool { return c.name == "single_1000" })]
	ended := make(chan error, 1)
	go func() {
		r, err := c.send(ctx, s, x.Addr, s.steady)
		if err == nil && wrong(r) != "" {
			err = fmt.Errorf("not every event was kept: %s", wrong(r))
		}
		ended <- err
	}()
	var seen []float64
	for tick := time.NewTicker(250 * time.Millisecond); ; {
		select {
		case err := <-ended:
			tick.Stop()
			if err != nil {
				return fmt.Errorf("follow memory: %w", err)
			}
			return concludeMemory(seen, conclude)
		case <-tick.C:
			if b, ok := x.RSS(); ok {
				seen = append(seen, b)
			}
		}
	}
}

func concludeMemory(seen []float64, conclude adder) error {
	first, last, ok := table.Quarters(seen)
	if !ok {
		return errors.New("the memory of the service could not be followed")
	}
	conclude(ours, "rss_most", slices.Max(seen)/(1<<20), "MiB")
	conclude(ours, "rss_most"+targetMetric, slices.Max(seen)/mostResident, "x")
	conclude(ours, "rss_first_quarter", first/(1<<20), "MiB")
	conclude(ours, "rss_last_quarter", last/(1<<20), "MiB")
	conclude(ours, "rss_last_to_first_quarter", last/first, "x")
	return nil
}
