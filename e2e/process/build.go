// Package process has what tests over real processes share: commands that are
// built once for a room, and servers that a test starts and ends, each by the
// handle that it holds.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// Patience bounds every wait; nothing is asserted about how much of it is
	// used.
	Patience = 2 * time.Minute
	// Repository is the way from a room of e2e to the repository's root.
	Repository = "../.."
)

// Main runs a room's tests. Before, build makes their commands in a folder that
// is theirs; after, none of their goroutines may be left, and the folder is
// gone. It does not return.
func Main(m *testing.M, build func(dir string) error) {
	dir, err := os.MkdirTemp("", "whittle-e2e-")
	if err == nil {
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	if status == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	_ = os.RemoveAll(dir) // it is the system's folder for what may be lost
	os.Exit(status)
}

// Build makes commands of the repository in dir: args are flags of go build,
// and packages.
func Build(dir string, args ...string) error {
	cmd := exec.CommandContext(context.Background(), "go", append([]string{"build", "-trimpath", "-o", dir + "/"}, args...)...)
	cmd.Dir = Repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return nil
}

// NeedMonolith says what is missing to run the Node monolith.
func NeedMonolith() error {
	if _, err := exec.LookPath("node"); err != nil {
		return errors.New("node is not installed: `make deps` says how to get it")
	}
	if _, err := os.Stat(filepath.Join(Repository, "systems/count/monolith/node_modules")); err != nil {
		return errors.New("the Node monolith's packages are not installed: run `make deps`")
	}
	return nil
}
