// Command soak keeps whittle under everything at once for as long as it is told:
// upstreams that fail in every way, clients of every kind, reloads, upgrades and
// restarts. Every response is held to what it must be. It ends with status 1 where a
// user had an error that direct access would not have had.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"whittle/bench/soak/run"
)

func main() {
	run.Play()
	o := run.Options{Progress: os.Stderr}
	flag.StringVar(&o.Whittle, "whittle", "bin/whittle", "the binary")
	flag.DurationVar(&o.Duration, "for", 10*time.Minute, "how long")
	flag.Int64Var(&o.Requests, "requests", 0, "how many at most; 0: as many as come")
	flag.Uint64Var(&o.Seed, "seed", 1, "what is drawn")
	flag.IntVar(&o.Many, "many", 3, "users of each kind, as a multiple")
	flag.StringVar(&o.Restart, "restart", run.Replaced, "how whittle is restarted in the first third: replace, plain, or nothing")
	flag.IntVar(&o.Often, "often", 1, "how many times as often there are reloads, restarts and upgrades: what one of them leaves shows sooner")
	flag.BoolVar(&o.Abrupt, "abrupt", false, "upstreams also close right after a response without saying so")
	flag.StringVar(&o.Keep, "keep", "", "a folder for what the gateways said last")
	out := flag.String("out", "out/soak.json", "the report")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := run.Run(ctx, o)
	if err == nil {
		r.Write(os.Stdout)
		err = save(r, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	if len(r.Failed) > 0 {
		os.Exit(1)
	}
}

func save(r *run.Report, path string) error {
	b, err := json.MarshalIndent(r, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o750)
	}
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	return err
}
