// Package soak has the short form of bench/soak: the same upstreams, users and
// disturbances for as long as a test may take.
package soak

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whittle/bench/soak/run"
	"whittle/e2e/process"
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

// TestSoak soaks for a few seconds: no user has an error that direct access would not
// have had, the ledgers are whole, and no goroutine and no file is left.
func TestSoak(t *testing.T) {
	const requests = 6_000
	r, err := run.Run(t.Context(), run.Options{
		Whittle: gateway, Duration: 10 * time.Second, Requests: requests, Seed: 1, Many: 1, Restart: run.Replaced, Progress: t.Output(),
	})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	r.Write(&text)
	if len(r.Failed) > 0 {
		t.Error(text.String())
	}
	// What was to be met, was.
	if r.Requests < requests/10 || len(r.Accounts) == 0 || len(r.Rests) == 0 || r.Events["whittle restart"] == 0 || r.Events["reload"] == 0 || r.Events["candidate restart"] == 0 {
		t.Errorf("it was too little:\n%s", text.String())
	}
}
