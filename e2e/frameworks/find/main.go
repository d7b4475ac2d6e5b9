// Find holds `whittle find` and `whittle profile` to the truth on small real
// services, one for each framework: is the endpoint that was planted named, and
// the line, is the share right, and is nothing said where nothing is to be said?
//
// A service is a folder of services/node or services/go, with a service.json (see
// service). It runs twice: with PLANTED=1 in its environment, when one line of one
// endpoint is dear, and without, when none is. It prints "listening
// public=HOST:PORT", a Go service also admin=HOST:PORT, where its pprof is. The dear
// line ends in the comment "// planted", once in the service's sources.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"whittle/internal/table"
)

type settings struct {
	services string        // the folder of node/ and go/
	whittle  string        // the binary under test
	length   time.Duration // of each profile
	rate     float64       // of each of a service's requests
	parallel int
	only     []string
}

func main() { table.Main("bench-find", bench) }

func bench(ctx context.Context, args []string) error {
	s := settings{}
	f := flag.NewFlagSet("bench-find", flag.ContinueOnError)
	f.StringVar(&s.services, "services", "e2e/frameworks/testdata/services", "the `folder` of the services")
	f.StringVar(&s.whittle, "whittle", "bin/whittle", "the `binary` under test")
	f.DurationVar(&s.length, "length", 8*time.Second, "how long each measurement is, 1s to 1m")
	f.Float64Var(&s.rate, "rate", 30, "how often a second each request of a service is sent, 1 to 1000")
	f.IntVar(&s.parallel, "parallel", 2, "services at once, 1 to 16")
	only := f.String("only", "", "measure these services alone, by `name`, with commas between")
	out := f.String("out", "out", "`folder` for bench-find.json")
	if err := f.Parse(args); err != nil {
		return err
	}
	if s.length < time.Second || s.length > time.Minute || !(s.rate >= 1 && s.rate <= 1000) || s.parallel < 1 || s.parallel > 16 {
		return errors.New("a flag is out of its range; -h names them")
	}
	s.only = strings.FieldsFunc(*only, func(r rune) bool { return r == ',' })
	services, err := corpus(s)
	if err != nil {
		return err
	}
	rows, err := measureAll(ctx, s, services)
	if err != nil {
		return err
	}
	return finish(*out, rows)
}

// corpus reads the services that are to be measured, in the order of their names.
func corpus(s settings) ([]*service, error) {
	files, err := filepath.Glob(filepath.Join(s.services, "*", "*", "service.json"))
	if err != nil {
		return nil, err
	}
	var all []*service
	for _, file := range files {
		one, err := readService(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		if len(s.only) == 0 || slices.Contains(s.only, one.name) {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no service.json in %s/*/* that is asked for", s.services)
	}
	return all, nil
}

// measureAll measures the services, some at once.
func measureAll(ctx context.Context, s settings, services []*service) ([]row, error) {
	work, err := os.MkdirTemp("", "bench-find-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(work) }() // the system's folder for what is thrown away
	rows := make([]row, len(services))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.parallel)
	for i, one := range services {
		g.Go(func() (err error) {
			if rows[i], err = one.measure(ctx, s, filepath.Join(work, one.name)); err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			fmt.Fprintln(os.Stderr, rows[i].words())
			return nil
		})
	}
	return rows, g.Wait()
}
