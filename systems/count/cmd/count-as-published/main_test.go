package main

import (
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"whittle"
	"whittle/systems/count/published"
)

// flaws returns the flaws that a command line leaves in force.
func flaws(t *testing.T, args ...string) (published.Flaws, error) {
	t.Helper()
	p := program()
	f := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	p.Flags(f)
	if err := f.Parse(args); err != nil {
		return published.Flaws{}, err
	}
	counter, stop, err := p.Start(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	return counter.(*published.Counter).Flaws, nil
}

func TestFlawsAreSelectedByFlag(t *testing.T) {
	for args, want := range map[string]published.Flaws{
		"":                       published.All,
		"-flaws=none":            {},
		"-flaws=wrap":            {Wrap: true},
		"-flaws=seed,remainder":  {Seed: true, Remainder: true},
		"-flaws=none -flaws=all": published.All,
	} {
		if got, err := flaws(t, strings.Fields(args)...); err != nil || got != want {
			t.Errorf("%q: %v, %v, want %v", args, got, err, want)
		}
	}
	if _, err := flaws(t, "-flaws=speed"); err == nil {
		t.Error("an unknown flaw is taken")
	}
}

func TestFlawsAreSelectedByEnvironment(t *testing.T) {
	getenv := func(name string) string { return map[string]string{"COUNT_FLAWS": "speed"}[name] }
	err := program().Run(t.Context(), []string{"-env-file", ""}, getenv, io.Discard, io.Discard)
	if whittle.CodeOf(err) != whittle.Invalid || !strings.Contains(err.Error(), "COUNT_FLAWS") {
		t.Errorf("%v, want invalid_argument that names COUNT_FLAWS", err)
	}
}
