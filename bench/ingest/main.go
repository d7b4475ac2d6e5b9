// Ingest compares what keeping an event costs: the ingestion service on its embedded log
// and a bare net/http handler, in turn, for several rounds. It also follows the service's
// memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"whittle/internal/table"
)

// settings are the same for every subject.
type settings struct {
	rounds   int
	duration time.Duration // of one measurement
	rate     int           // requests per second of the paced measurement
	steady   time.Duration // of the run whose memory is followed
	ingest   string
	only     *regexp.Regexp // of SCENARIO/SUBJECT: what is measured
	folder   string         // for logs, on the disk that is measured
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == bareRole {
		os.Exit(serveBare())
	}
	table.Main("bench-ingest", run)
}

func parse(args []string) (s settings, out string, err error) {
	f := flag.NewFlagSet("bench-ingest", flag.ContinueOnError)
	f.IntVar(&s.rounds, "rounds", 5, "how often each subject is measured, 2 to 100")
	f.DurationVar(&s.duration, "duration", 4*time.Second, "of one measurement, 1s to 1m")
	f.IntVar(&s.rate, "rate", 4000, "requests per second over 1000 connections of the paced measurement, 1000 to 50000")
	f.DurationVar(&s.steady, "steady", 40*time.Second, "of the run whose memory is followed, 4s to 1h")
	f.StringVar(&s.ingest, "ingest", "bin/ingest", "the `binary` under test")
	only := f.String("only", "", "`regexp` of what is measured, as SCENARIO/SUBJECT: '^(single|paced)_[0-9]*/(ingest|net/http)$', 'memory/'; empty: all")
	f.StringVar(&out, "out", "out", "`folder` for bench-ingest.json, and for the logs while they are measured")
	if err := f.Parse(args); err != nil {
		return s, "", err
	}
	if f.NArg() > 0 { // as the service would be started, if this program stood in its place
		return s, "", fmt.Errorf("%q is no flag", f.Arg(0))
	}
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, "", fmt.Errorf("flag -only: %w", err)
	}
	if s.rounds < 2 || s.rounds > 100 || s.duration < time.Second || s.duration > time.Minute || s.rate < 1000 || s.rate > 50_000 ||
		s.steady < 4*time.Second || s.steady > time.Hour {
		return s, "", errors.New("a flag is out of its range: rounds 2 to 100, duration 1s to 1m, rate 1000 to 50000, steady 4s to 1h")
	}
	return s, out, nil
}

// measures reports whether the flags ask for a scenario of a subject.
func (s settings) measures(scenario, subject string) bool {
	return s.only.MatchString(scenario + "/" + subject)
}

// needs reports whether the flags ask for any scenario of a subject.
func (s settings) needs(subject string) bool {
	return subject == ours && s.measures("memory", ours) || slices.ContainsFunc(scenarios(), func(c scenario) bool {
		return slices.Contains(c.subjects, subject) && s.measures(c.name, subject)
	})
}

func run(ctx context.Context, args []string) (err error) {
	s, out, err := parse(args)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make folder for results: %w", err)
	}
	if s.folder, err = os.MkdirTemp(out, "ingest-"); err != nil {
		return fmt.Errorf("make folder for logs: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.folder)) }()
	if s.folder, err = filepath.Abs(s.folder); err != nil {
		return fmt.Errorf("find folder for logs: %w", err)
	}
	r := table.NewResults("ingest")
	if err := costs(ctx, s, r); err != nil {
		return err
	}
	return r.Finish(out)
}
