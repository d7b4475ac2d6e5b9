// Package behind runs the built whittle behind real proxies, by the configurations of
// examples/ themselves: one path through whittle, with the monolith as its backup.
package behind

import (
	"flag"
	"path/filepath"
	"testing"
	"time"

	"whittle/e2e/process"
)

// pollEvery is how often a condition is looked at while it is waited for.
const pollEvery = 20 * time.Millisecond

var (
	gateway string
	doc     = flag.String("doc", "", "a page, such as docs/behind.md, whose table is written anew")
)

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		built, err := process.Build("./cmd/whittle")
		gateway = filepath.Join(built, "whittle")
		return err
	}, writeTable)
}

// until waits for a condition, and fails with what it last said.
func until(t *testing.T, what string, done func() (bool, string)) {
	t.Helper()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	for deadline := time.Now().Add(process.Patience); ; <-poll.C {
		ok, said := done()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s: %s", process.Patience, what, said)
		}
	}
}
