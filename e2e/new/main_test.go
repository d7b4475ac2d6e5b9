// Package newservice begins with what a team has, a monolith and its traffic.
// It records the traffic, lets the built whittle make a contract and a project
// of it, builds and tests the project in an empty folder, and raises the
// service's share to all users behind the built gateway, while every user's
// response is checked.
package newservice

import (
	"os"
	"path/filepath"
	"testing"

	"whittle/e2e/process"
)

// whittled is the built command.
var whittled string

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		// What two projects have in common, or an earlier run had, is in Go's cache
		// if the names of their folders are not compiled into it.
		if err := os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath"); err != nil {
			return err
		}
		built, err := process.Build("./cmd/whittle")
		whittled = filepath.Join(built, "whittle")
		return err
	})
}
