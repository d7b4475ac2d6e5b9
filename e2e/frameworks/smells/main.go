// Smells holds `whittle profile` to the truth on one service of each framework that has
// every mistake that it knows, and of each a twin without it: is the smell named, at its
// line, is nothing else named, and of the twins nothing at all?
//
// The services are e2e/frameworks/testdata/services/node/smells and go/smells, with the packages and
// the module of those of find. Each is under load by one mistake, or twin, at a time.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle/e2e/frameworks/profiled"
	"whittle/internal/table"
)

type settings struct {
	services string // the folder of node/ and go/
	whittle  profiled.Whittle
	users    int
	parallel int
	only     []string // frameworks
	cases    []string
}

func main() { table.Main("bench-smells", bench) }

func bench(ctx context.Context, args []string) error {
	s := settings{}
	f := flag.NewFlagSet("bench-smells", flag.ContinueOnError)
	f.StringVar(&s.services, "services", "e2e/frameworks/testdata/services", "the `folder` of the services")
	f.StringVar(&s.whittle.Binary, "whittle", "bin/whittle", "the `binary` under test")
	f.DurationVar(&s.whittle.Length, "length", 3*time.Second, "how long each profile is, 1s to 1m")
	f.IntVar(&s.users, "users", 3, "users of a mistake, each with one request after another, 1 to 100")
	f.IntVar(&s.parallel, "parallel", 2, "services at once, 1 to 16")
	only := f.String("only", "", "these frameworks alone, by `name`, with commas between")
	cases := f.String("smells", "", "these mistakes alone, by `name`, with commas between")
	out := f.String("out", "out", "`folder` for bench-smells.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.whittle.Length < time.Second || s.whittle.Length > time.Minute || s.users < 1 || s.users > 100 || s.parallel < 1 || s.parallel > 16 {
		return errors.New("a flag is out of its range; -h names them")
	}
	s.only, s.cases = profiled.Listed(*only), profiled.Listed(*cases)
	work, err := os.MkdirTemp("", "bench-smells-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // the system's folder for what is thrown away
	services, err := corpus(ctx, &s, work)
	if err != nil {
		return err
	}
	rows := make([][]row, len(services))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	for i, one := range services {
		g.Go(func() (err error) {
			if rows[i], err = one.measure(ctx, &s, filepath.Join(work, one.framework+".json")); err != nil {
				return fmt.Errorf("%s: %w", one.framework, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return finish(*out, slices.Concat(rows...))
}

// finish prints the sums and writes the rows.
func finish(folder string, rows []row) error {
	var named, right, wrong, clean int
	for _, r := range rows {
		if r.Named {
			named++
		}
		if r.LineOK {
			right++
		}
		wrong, clean = wrong+len(r.Wrong), clean+len(r.FalseSmells)
	}
	fmt.Printf("of %d mistakes: named %d, at their line %d, missed %d; others named %d; of as many twins named %d\n",
		len(rows), named, right, len(rows)-named, wrong, clean)
	return table.Save(folder, "smells", rows)
}
