// Count-as-published is the count service with the flaws it was published
// with, for tests and the demo.
package main

import (
	"flag"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/systems/count/published"
	"whittle/systems/count/server"
)

func main() { os.Exit(server.Main(program())) }

func program() server.Program {
	flaws := published.All
	return server.Program{
		Name: "count-as-published",
		Summary: "count-as-published responds like count, with the flaws of the published service.\n" +
			"It serves tests and the demo; nothing else should call it.",
		Examples: `  count-as-published -listen 127.0.0.1:0 -admin 127.0.0.1:0
  count-as-published -flaws remainder,wrap
  COUNT_FLAWS=seed count-as-published
`,
		Flags: func(f *flag.FlagSet) {
			f.Var((*list)(&flaws), "flaws", "all, none, or `some` of distribution,remainder,wrap,seed")
		},
		Start: func(prometheus.Registerer) (server.Counter, func(), error) {
			return &published.Counter{Flaws: flaws, Now: time.Now}, func() {}, nil
		},
	}
}

// list makes Flaws a flag.
type list published.Flaws

func (l *list) String() string { return published.Flaws(*l).String() }

func (l *list) Set(s string) error {
	f, err := published.ParseFlaws(s)
	if err != nil {
		return err
	}
	*l = list(f)
	return nil
}
