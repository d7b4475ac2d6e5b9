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
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const (
	// Patience bounds every wait; nothing is asserted about how much of it is used.
	Patience = 4 * time.Minute
	// Repository is the way from a room of e2e to the repository's root.
	Repository = "../.."
)

// Main runs a room's tests. Before, build makes their commands; after, what they
// share is ended, and none of their goroutines may be left. It does not return.
func Main(m *testing.M, build func() error, end ...func()) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	for _, f := range end {
		f()
	}
	if status == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			status = 1
		}
	}
	os.Exit(status)
}

// Build makes commands of the repository, as they are shipped, and gives the
// folder where they are. The folder is the same for all rooms and all runs, so that
// a command is linked again only when it has changed; rooms that build at the same
// time wait for each other.
func Build(packages ...string) (dir string, err error) {
	return buildIn(".cache/built", append([]string{"-ldflags=-s -w"}, packages...))
}

// BuildTagged is Build with a build tag, and a folder for what comes of it.
func BuildTagged(tag string, packages ...string) (dir string, err error) {
	return buildIn(".cache/built-"+tag, append([]string{"-ldflags=-s -w", "-tags=" + tag}, packages...))
}

// BuildRaced is Build with the race detector in the commands.
func BuildRaced(packages ...string) (dir string, err error) {
	return buildIn(".cache/built-race", append([]string{"-race"}, packages...))
}

func buildIn(folder string, args []string) (dir string, err error) {
	dir, err = filepath.Abs(filepath.Join(Repository, folder))
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	if err != nil {
		return "", fmt.Errorf("make the commands' folder: %w", err)
	}
	lock, err := os.Open(dir)
	if err != nil {
		return "", fmt.Errorf("lock the commands' folder: %w", err)
	}
	defer lock.Close() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock the commands' folder: %w", err)
	}
	cmd := exec.CommandContext(context.Background(), "go", append([]string{"build", "-trimpath", "-o", dir + "/"}, args...)...)
	cmd.Dir = Repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the commands: %w\n%s", err, out)
	}
	return dir, nil
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
