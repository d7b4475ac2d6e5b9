// Member measures what a request that only passes through costs a member of a fleet
// next to a gateway that is alone: CPU time of their processes over blocks of requests in
// turn, in random order, as a ratio with its interval. Two gateways are alone, and the ratio
// of these says what the machine's noise makes of equals.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"whittle"
	"whittle/bench/server"
	"whittle/bench/table"
	"whittle/carve/admin"
	"whittle/internal/notify"
	"whittle/internal/paired"
)

// The subjects, as the rows name them.
const (
	alone   = "alone"
	again   = "alone, again"
	leads   = "leads"
	follows = "follows"
)

// most is what a member may cost at most, next to a gateway that is alone.
const most = 1.03

type settings struct {
	blocks, requests int
	rest             time.Duration
	whittle          string
}

func main() {
	if len(os.Args) == 2 {
		switch os.Args[1] {
		case upstreamRole:
			os.Exit(respond())
		case natsRole:
			os.Exit(serveNATS())
		}
	}
	var s settings
	flag.IntVar(&s.blocks, "blocks", 300, "how many blocks of requests each gateway gets")
	flag.IntVar(&s.requests, "requests", 2000, "how many requests a block has")
	flag.DurationVar(&s.rest, "rest", 20*time.Second, "for how long nobody asks, so that what a gateway spends then is known")
	flag.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` under test")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	held, err := run(ctx, s)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-member:", err)
		os.Exit(3)
	}
	if !held {
		os.Exit(1)
	}
}

// subject is a gateway under measurement.
type subject struct {
	name  string
	conns []*conn
	*server.Server
	idle   float64 // µs of CPU a second, while nobody asks
	all    []paired.Share
	beyond []paired.Share // without what it would have spent idle
}

func run(ctx context.Context, s settings) (held bool, err error) {
	dir, err := os.MkdirTemp("", "member-")
	if err != nil {
		return false, fmt.Errorf("make folder: %w", err)
	}
	ctx, end := context.WithCancel(ctx) // which ends all processes
	defer func() { end(); err = errors.Join(err, os.RemoveAll(dir)) }()
	subjects, err := open(ctx, dir, s.whittle)
	if err != nil {
		return false, err
	}
	for _, g := range subjects { // to warm up
		if _, err := g.block(10 * s.requests); err != nil {
			return false, err
		}
	}
	if err := restFor(ctx, s.rest, subjects); err != nil {
		return false, err
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range s.blocks {
		for _, i := range rng.Perm(len(subjects)) {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if err := subjects[i].measure(s.requests); err != nil {
				return false, err
			}
		}
	}
	return tell(subjects, rng), nil
}

// open starts an upstream, a NATS server, and the gateways.
func open(ctx context.Context, dir, program string) (all []*subject, err error) {
	upstream, err := server.Start(ctx, nil, server.Self(), upstreamRole)
	if err != nil {
		return nil, err
	}
	servers, err := server.Start(ctx, []string{natsFolder + "=" + filepath.Join(dir, "nats")}, server.Self(), natsRole)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{alone, again, leads, follows} {
		fleet := ""
		if name == leads || name == follows {
			fleet = fmt.Sprintf("fleet: {nats: \"nats://%s\", name: bench, member: %s, replicas: 1}\n", servers.Addr, name)
		}
		config := "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nmonolith: http://" + upstream.Addr + "\n" + fleet +
			"routes: [{match: \"GET /items/{id}\", candidate: \"http://" + upstream.Addr + "\"}]\n"
		at := filepath.Join(dir, strings.ReplaceAll(name, ", ", "-"))
		file := filepath.Join(at, "whittle.yaml")
		if err := errors.Join(os.Mkdir(at, 0o700), os.WriteFile(file, []byte(config), 0o600)); err != nil {
			return nil, fmt.Errorf("write config: %w", err)
		}
		p, err := server.Start(ctx, nil, program, "run", "-c", file)
		if err != nil {
			return nil, err
		}
		g := &subject{name: name, Server: p}
		for range users {
			c, err := dial(ctx, p.Addr)
			if err != nil {
				return nil, err
			}
			g.conns = append(g.conns, c)
		}
		if fleet != "" { // the first one leads
			if err := leader(ctx, p.Admin, leads); err != nil {
				return nil, err
			}
		}
		all = append(all, g)
	}
	return all, nil
}

// leader waits until a gateway knows who leads.
func leader(ctx context.Context, address, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := admin.Dial(address, "")
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		var f whittle.FleetStatus
		if f, err = c.Fleet(ctx); err == nil && f.Connected && f.Leader == name {
			return nil
		}
		if !notify.Sleep(ctx, 100*time.Millisecond) {
			return fmt.Errorf("wait for %s to lead: it is %q: %w", name, f.Leader, errors.Join(ctx.Err(), err))
		}
	}
}

// restFor notes what each spends while nobody asks.
func restFor(ctx context.Context, d time.Duration, all []*subject) error {
	before := make([]time.Duration, len(all))
	for i, g := range all {
		var err error
		if before[i], err = g.CPU(); err != nil {
			return err
		}
	}
	begun := time.Now()
	if !notify.Sleep(ctx, d) {
		return ctx.Err()
	}
	for i, g := range all {
		after, err := g.CPU()
		if err != nil {
			return err
		}
		g.idle = table.Micros(after-before[i]) / time.Since(begun).Seconds()
	}
	return nil
}

// block has so many requests pass through, and returns how long it took.
func (g *subject) block(requests int) (time.Duration, error) {
	begun, failed := time.Now(), make(chan error, len(g.conns))
	for _, c := range g.conns {
		go func() { failed <- c.ask(requests / len(g.conns)) }()
	}
	var err error
	for range g.conns {
		err = errors.Join(err, <-failed)
	}
	return time.Since(begun), err
}

func (g *subject) measure(requests int) error {
	var took time.Duration
	cpu, err := g.Spent(func() (err error) {
		took, err = g.block(requests)
		return err
	})
	if err != nil {
		return err
	}
	spent := table.Micros(cpu)
	g.all = append(g.all, paired.Share{Sum: spent, Of: float64(requests)})
	g.beyond = append(g.beyond, paired.Share{Sum: max(spent-g.idle*took.Seconds(), 0), Of: float64(requests)})
	return nil
}

// tell prints what was measured, and reports whether members are shown to cost no more
// than they may.
func tell(all []*subject, rng *rand.Rand) (held bool) {
	load, _ := os.ReadFile("/proc/loadavg") // empty: it is not known here
	fmt.Printf("load %s\n", strings.TrimSpace(string(load)))
	for _, g := range all {
		fmt.Printf("%-14s idle: %5.2f ms of CPU a second\n", g.name, g.idle/1000)
	}
	held = true
	test := paired.NewTest(len(all[0].all), rng)
	for _, g := range all[1:] {
		r := test.Compare(paired.Mean(all[0].all, g.all))
		b := test.Compare(paired.Mean(all[0].beyond, g.beyond))
		fmt.Printf("%-14s %.2f µs a request, alone %.2f: %s; without what each spends idle: %s\n", g.name, r.B, r.A, percent(r), percent(b))
		if g.name != again {
			held = held && r.High <= most
		}
	}
	verdict := "not shown"
	if held {
		verdict = "held"
	}
	fmt.Printf("a member costs at most 3 %% more: %s\n", verdict)
	return held
}

func percent(r paired.Ratio) string {
	return fmt.Sprintf("%+.2f %% (%+.2f to %+.2f)", 100*(r.Ratio-1), 100*(r.Low-1), 100*(r.High-1))
}

// dial opens a connection of a user.
func dial(ctx context.Context, address string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return newConn(c), nil
}
