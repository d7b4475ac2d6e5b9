// Package soak keeps whittle under everything at once: upstreams that fail in every way,
// clients of every kind, reloads, upgrades and restarts. Every response is held to what it
// must be. make soak runs it for long.
package soak

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/e2e/process"
	"whittle/e2e/soak/run"
	"whittle/internal/fatal"
)

var (
	lasts = flag.Duration("for", 0, "how long to soak; 0: in short")
	seed  = flag.Uint64("seed", 1, "what is drawn")
	many  = flag.Int("many", 1, "users of each kind, as a multiple")
)

// short is how many requests the short form sends at most, in so long at most.
const (
	short   = 6_000
	shortIn = 10 * time.Second
)

var gateway string

func TestMain(m *testing.M) {
	run.Play()
	process.Main(m, func() error {
		built, err := process.Build("./cmd/whittle")
		gateway = filepath.Join(built, "whittle")
		return err
	})
}

// TestSoak soaks: no user has an error that direct access would not have had, the ledgers
// are whole, and no goroutine and no file is left.
func TestSoak(t *testing.T) {
	o := run.Options{Whittle: gateway, Duration: *lasts, Seed: *seed, Many: *many, Progress: t.Output()}
	if *lasts == 0 {
		o.Duration, o.Requests = shortIn, short
	}
	r, err := run.Run(t.Context(), o)
	fatal.If(t, err)
	var text strings.Builder
	r.Write(&text)
	if len(r.Failed) > 0 {
		t.Error(text.String())
	}
	// What was to be met, was.
	if r.Requests < short/10 || len(r.Accounts) == 0 || len(r.Rests) == 0 || r.Events["whittle restart"] == 0 || r.Events["reload"] == 0 || r.Events["candidate restart"] == 0 {
		t.Errorf("it was too little:\n%s", text.String())
	}
	t.Log(text.String())
}
