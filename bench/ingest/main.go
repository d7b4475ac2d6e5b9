// Ingest compares what keeping an event costs: the ingestion service on its
// embedded log and on Kinesis, its Node counterpart, a public peer and a bare
// net/http handler, in turn, for several rounds. In addition to the responses' times
// stand those of the disk's own sync. It also follows the service's memory, and
// times its start on a large log after a kill.
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

	"whittle/bench/table"
)

// settings are the same for every subject.
type settings struct {
	rounds   int
	duration time.Duration // of one measurement
	rate     int           // requests per second of the paced measurement
	steady   time.Duration // of the run whose memory is followed
	recovery bytes         // of the log whose recovery is timed; 0: none
	ingest   string
	benthos  string
	only     *regexp.Regexp // of SCENARIO/SUBJECT: what is measured
	folder   string         // for logs and configs, on the disk that is measured
}

// What is measured of the service alone, as -only names it.
const (
	memoryScenario   = "memory"
	recoveryScenario = "recovery"
)

func main() {
	if len(os.Args) >= 2 {
		switch os.Args[1] {
		case bareRole, groupRole:
			os.Exit(serveBare(os.Args[1] == groupRole))
		case fillRole:
			os.Exit(fillAs(os.Args[2:]))
		}
	}
	table.Main("bench-ingest", run)
}

func parse(args []string) (s settings, out string, err error) {
	s.recovery = 1 << 30
	f := flag.NewFlagSet("bench-ingest", flag.ContinueOnError)
	f.IntVar(&s.rounds, "rounds", 5, "how often each subject is measured, 2 to 100")
	f.DurationVar(&s.duration, "duration", 4*time.Second, "of one measurement, 1s to 1m")
	f.IntVar(&s.rate, "rate", 4000, "requests per second over 1000 connections of the paced measurement, 1000 to 50000")
	f.DurationVar(&s.steady, "steady", 40*time.Second, "of the run whose memory is followed, 4s to 1h")
	f.Var(&s.recovery, "recovery", "`size` of the log whose recovery is timed, such as 10GB; 0: none")
	f.StringVar(&s.ingest, "ingest", "bin/ingest", "the `binary` under test")
	f.StringVar(&s.benthos, "benthos", os.Getenv("BENTHOS"), "Benthos' `binary`, where it is not in PATH; also by the variable BENTHOS")
	only := f.String("only", "", "`regexp` of what is measured, as SCENARIO/SUBJECT: '^(single|paced)_[0-9]*/(ingest|net/http)$', 'memory/', 'recovery/'; empty: all")
	f.StringVar(&out, "out", "out", "`folder` for bench-ingest.json, and for the logs while they are measured")
	if err := f.Parse(args); err != nil {
		return s, "", err
	}
	if s.only, err = regexp.Compile(*only); err != nil {
		return s, "", fmt.Errorf("flag -only: %w", err)
	}
	if s.rounds < 2 || s.rounds > 100 || s.duration < time.Second || s.duration > time.Minute || s.rate < 1000 || s.rate > 50_000 ||
		s.steady < 4*time.Second || s.steady > time.Hour || s.recovery > 1<<40 {
		return s, "", errors.New("a flag is out of its range: rounds 2 to 100, duration 1s to 1m, rate 1000 to 50000, steady 4s to 1h, recovery up to 1 TiB")
	}
	return s, out, nil
}

// measures reports whether the flags ask for a scenario of a subject.
func (s settings) measures(scenario, subject string) bool {
	return s.only.MatchString(scenario + "/" + subject)
}

// needs reports whether the flags ask for any scenario of a subject.
func (s settings) needs(subject string) bool {
	for _, c := range scenarios() {
		if slices.Contains(c.subjects, subject) && s.measures(c.name, subject) {
			return true
		}
	}
	return subject == ours && s.measures(memoryScenario, ours)
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
	need := int64(s.recovery) + spare
	if _, ok := s.benthosBinary(); ok && s.needs(benthos) {
		need += benthosKeep
	}
	if err := capacityFor(s.folder, need); err != nil {
		return err
	}
	r := table.NewResults("ingest")
	if err := costs(ctx, s, r); err != nil {
		return err
	}
	if s.recovery > 0 && s.measures(recoveryScenario, ours) {
		if err := recovery(ctx, s, r.Conclude); err != nil {
			return err
		}
	}
	return r.Finish(out)
}

// adder takes a row of the conclusion: both for people and for machines.
type adder func(subject, metric string, value float64, unit string)
