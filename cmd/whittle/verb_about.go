package main

import (
	"fmt"

	"whittle/carve/config"
	"whittle/cmdline"
)

type versionVerb struct{}

// Run prints the module's version and the Go release it was built with.
func (versionVerb) Run(s cmdline.Streams) error {
	fmt.Fprintln(s.Out, version())
	return nil
}

func version() string { return cmdline.Version("whittle") }

type schemaVerb struct{}

// Help gives the examples.
func (schemaVerb) Help() string {
	return `Prints the JSON Schema of whittle.yaml, by which editors complete keys, show what each is for, and mark what is wrong while it is typed. What relates one key to another is left to "whittle check".

Examples:
  whittle schema > whittle.schema.json
  sed -i '1i # yaml-language-server: $schema=whittle.schema.json' whittle.yaml`
}

// Run prints the schema.
func (schemaVerb) Run(s cmdline.Streams) error {
	_, err := s.Out.Write(config.Schema())
	return err
}

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
