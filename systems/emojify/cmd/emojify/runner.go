package main

import (
	"context"
	"net"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"whittle"
	"whittle/systems/daemon"
)

// serve opens the two ports that every verb has, has build add services to the
// process, and runs them until ctx ends.
func (f *processFlags) serve(ctx context.Context, s streams, address, admin string, build func(p *daemon.Process, port net.Listener) error) error {
	if f.Drain < 0 {
		return whittle.Errorf(whittle.Invalid, "--drain is %v, it must not be below 0", f.Drain)
	}
	// Rare enough to cost nothing that one could measure, often enough to show
	// a lock that matters in a profile of seconds.
	runtime.SetMutexProfileFraction(100)
	runtime.SetBlockProfileRate(int(10 * time.Millisecond))
	p := &daemon.Process{Log: daemon.Logger(s.err, f.LogLevel, f.LogJSON), Registry: prometheus.NewRegistry(), Drain: f.Drain}
	p.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	defer p.Close()
	port, err := p.Listen(ctx, "--listen", address)
	if err != nil {
		return err
	}
	back, err := p.ListenLocal(ctx, "--admin", admin)
	if err != nil {
		return err
	}
	if err := build(p, port); err != nil {
		return err
	}
	return p.Run(ctx, back, s.out)
}
