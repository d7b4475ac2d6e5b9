// Count-as-published is the count service with the flaws it was published
// with, for tests and the demo.
package main

import (
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"whittle/systems/count/published"
	"whittle/systems/count/server"
)

func main() { os.Exit(server.Main(program())) }

func program() server.Program {
	return server.Program{
		Name: "count-as-published",
		Summary: "count-as-published responds like count, with the flaws of the published service.\n" +
			"It serves tests and the demo; nothing else should call it.",
		Examples: `  count-as-published -listen 127.0.0.1:0 -admin 127.0.0.1:0
`,
		Start: func(prometheus.Registerer) (server.Counter, func(), error) {
			return &published.Counter{Now: time.Now}, func() {}, nil
		},
	}
}
