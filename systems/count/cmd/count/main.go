// Count is the service carved out of the monolith: it adds up random numbers.
package main

import (
	"cmp"
	"flag"
	"os"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/systems/count/server"
	"whittle/systems/count/sum"
)

func main() { os.Exit(server.Main(program())) }

func program() server.Program {
	var o sum.Options
	return server.Program{
		Name:    "count",
		Summary: "count adds up random numbers, over Twirp, Connect and gRPC on one port.",
		Examples: `  count
  count -listen 127.0.0.1:0 -admin 127.0.0.1:0
  COUNT_DEADLINE=5s count -log-json
  curl -H 'Content-Type: application/json' -d '{"times": 1000}' \
    http://localhost:6666/twirp/twirp.carved.Carved/Count
`,
		Flags: func(f *flag.FlagSet) {
			f.IntVar(&o.Workers, "workers", 0, "how many draw at once; 0: as many as there are cores")
			f.IntVar(&o.MaxActive, "max-active", 1024, "calls under way or waiting; one more is refused")
		},
		Start: func(r prometheus.Registerer) (server.Counter, func(), error) { return start(o, r) },
	}
}

// start gives the workers the cores, and the network one thread more: with
// every thread drawing, a small request would wait for the scheduler's 10 ms
// look at the network.
func start(o sum.Options, r prometheus.Registerer) (server.Counter, func(), error) {
	if o.Workers < 0 || o.MaxActive < 1 {
		return nil, nil, whittle.Errorf(whittle.Invalid, "-workers is %d and -max-active %d, they must be at least 0 and 1", o.Workers, o.MaxActive)
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	runtime.GOMAXPROCS(o.Workers + 1)
	pool := sum.New(o)
	r.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "count_active", Help: "Calls that draw or wait for their turn.",
		}, func() float64 { active, _ := pool.Load(); return float64(active) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "count_draws_total", Help: "Numbers drawn.",
		}, func() float64 { _, drawn := pool.Load(); return float64(drawn) }),
	)
	return pool, pool.Close, nil
}
