package main

import (
	"fmt"

	"whittle/cmdline"
)

type demoVerb struct{}

// Help says why the demos are elsewhere.
func (demoVerb) Help() string {
	return `The demos need a checkout of whittle's repository: they build and start its worked systems. This binary does not hold them.

Examples:
  make demo            # carve the count endpoint: flaws refused, shift, break, rollback, live
  make demo-emojify    # profile a service, name the line, take it out, guard against its return
  make demo-ingest     # events onto a stream, Go next to Node.js, every one read back`
}

// Run prints where the demos are.
func (v demoVerb) Run(s cmdline.Streams) error {
	fmt.Fprintln(s.Out, v.Help())
	return nil
}
