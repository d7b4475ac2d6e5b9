package main

import (
	"context"
	"fmt"
	"net"
	"strings"

	"whittle/bench/server"
	"whittle/bench/table"
)

// case of growth: what one measurement has more of than the others.
type growthCase struct {
	name string
	// path is what is asked for, by so many connections, with so many more fields.
	path   string
	conns  int
	fields int
	// routes is how many routes whittle has; the request is of none of them.
	routes int
}

var growthCases = []growthCase{
	{name: "base", path: path, conns: 32},
	{name: "conns_1000", path: path, conns: 1000},
	{name: "body_1KB", path: bytesPath + "1000", conns: 32},
	{name: "body_100KB", path: bytesPath + "100000", conns: 32},
	{name: "body_10MB", path: bytesPath + "10000000", conns: 8},
	{name: "fields_5", path: path, conns: 32, fields: 5},
	{name: "fields_50", path: path, conns: 32, fields: 50},
	{name: "routes_100", path: path, conns: 32, routes: 100},
	{name: "routes_1000", path: path, conns: 32, routes: 1000},
}

// growth measures how the cost of a request grows with connections, bodies, fields and
// routes, next to nginx's for the same.
func growth(ctx context.Context, r *table.Results, s settings, wrk string) error {
	if wrk == "" {
		fmt.Println("wrk is missing: how the cost grows is left out")
		return nil
	}
	up, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer up.Stop()
	other, err := peers[0].start(ctx, s, up.Addr, false)
	if err != nil || other == nil {
		return err
	}
	defer other.Stop()
	all := table.Rounds{}
	for _, c := range growthCases {
		if err := grow(ctx, r.T, all, s, wrk, c, up.Addr, other); err != nil {
			return err
		}
		metric := c.name + "_" + cpuMetric
		r.Conclude(ours, metric+"_median", all.Median(ours, metric), "us")
		r.Conclude(ours, metric+"_to_nginx", all.Ratio(metric, ours, peers[0].name), "x")
	}
	return nil
}

func grow(ctx context.Context, t *table.T, all table.Rounds, s settings, wrk string, c growthCase, upstream string, other *server.Server) error {
	w, err := startWhittle(ctx, s, "growth-"+c.name, upstream, setup{routes: c.routes})
	if err != nil {
		return err
	}
	defer w.Stop()
	var fields []string
	for i := range c.fields {
		fields = append(fields, "-H", fmt.Sprintf("X-Field-%d: a value of a usual length", i))
	}
	subjects := []subject{{ours, w}, {peers[0].name, other}}
	return table.InTurn(subjects, s.rounds, func(x subject, counted bool) error {
		var got figures
		spent, err := x.Spent(func() (err error) {
			got, err = runWrk(ctx, wrk, "http://"+x.Addr+c.path, c.conns, s.duration, fields...)
			return err
		})
		if err != nil {
			return fmt.Errorf("load %s with %s: %w", x.name, c.name, err)
		}
		if counted {
			all.Add(t, x.name, c.name+"_"+cpuMetric, table.Micros(spent)/float64(got.requests), "us")
		}
		return nil
	})
}

// keptConnections is over how many idle connections memory is divided.
const keptConnections = 4000

// kept measures what idle connections hold.
func kept(ctx context.Context, r *table.Results, s settings, _ string) error {
	up, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return err
	}
	defer up.Stop()
	size, err := keptConnection(ctx, s, up.Addr)
	if err == nil {
		r.Conclude(ours, "kept_connection", size, "B")
	}
	return err
}

// keptConnection is the memory that one idle kept connection takes.
func keptConnection(ctx context.Context, s settings, upstream string) (float64, error) {
	w, err := startWhittle(ctx, s, "kept", upstream, setup{})
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	one, err := dial(ctx, w.Addr)
	if err != nil {
		return 0, err
	}
	defer one.c.Close()
	for range 200_000 { // until garbage is collected: what the first requests take is no connection's
		if err := one.ask(); err != nil {
			return 0, err
		}
	}
	before, ok := w.RSS()
	if !ok {
		return 0, fmt.Errorf("read memory of whittle at %s", w.Addr)
	}
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close() // it has served its purpose
		}
	}()
	for range keptConnections {
		session, err := dial(ctx, w.Addr)
		if err != nil {
			return 0, err
		}
		open = append(open, session.c)
		if err := session.ask(); err != nil {
			return 0, err
		}
	}
	after, _ := w.RSS()
	return (after - before) / keptConnections, nil
}

// routesFor is a config's routes that no request of the measurement is of.
func routesFor(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "  - match: GET /other/%d/{id}\n", i)
	}
	return b.String()
}
