// Carve measures the count application before and after its hot endpoint is carved
// out, by the published load plans: as it was, under a tenth of the work, with the
// endpoint carved out, and the carved service by itself. Each run has fresh
// processes, and `whittle load` sends the plan's file as it is.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"whittle/internal/table"
)

type settings struct {
	whittle, service string
	root             string // of the repository
	folder           string // for plans that were changed
	// seconds and patience scale the plans down; 0: as it was published.
	seconds  int
	patience time.Duration
}

func main() { table.Main("carve", run) }

func run(ctx context.Context, args []string) (err error) {
	var s settings
	f := flag.NewFlagSet("carve", flag.ContinueOnError)
	f.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` that sends the load")
	f.StringVar(&s.service, "service", "bin/count", "the `binary` of the carved service")
	f.StringVar(&s.root, "root", ".", "the repository's `folder`")
	f.IntVar(&s.seconds, "seconds", 0, "of arrivals in each plan, 1 to 60; 0: the plan's own, unchanged")
	f.DurationVar(&s.patience, "patience", 0, "of the users, in whole seconds, 1s to 60s; 0: the plan's own, unchanged")
	out := f.String("out", "out", "`folder` for bench-carve.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.seconds < 0 || s.seconds > 60 || s.patience < 0 || s.patience > time.Minute || s.patience%time.Second != 0 {
		return errors.New("a flag is out of its range; -h names them")
	}
	if s.folder, err = os.MkdirTemp("", "carve-"); err != nil {
		return fmt.Errorf("make folder for plans: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.folder)) }()
	var done []*setup
	for _, sc := range setups {
		fmt.Fprintf(os.Stderr, "%s…\n", sc.name)
		if err := sc.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", sc.name, err)
		}
		done = append(done, sc)
	}
	printTable(os.Stdout, done)
	for _, line := range words(done) {
		fmt.Println(line)
	}
	t := table.New("carve")
	for _, sc := range done {
		sc.rows(t)
	}
	return t.Write(*out)
}
