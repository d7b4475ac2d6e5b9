// Package checkout finds the repository that a program is run in: its Node
// services, load plans and caches are files there. It looks for them from where the
// program runs and not from where it was compiled, since a binary that is built with
// -trimpath does not know that.
package checkout

import (
	"os"
	"path/filepath"
	"strings"
)

// Root is the folder of whittle's go.mod, at the working directory or above it.
// Where there is none it looks from the folder of the program. Empty: there is none
// either.
func Root() string {
	if dir, err := os.Getwd(); err == nil {
		if root := above(dir); root != "" {
			return root
		}
	}
	if program, err := os.Executable(); err == nil {
		return above(filepath.Dir(program))
	}
	return ""
}

// above is the root at a folder or above it, or empty.
func above(dir string) string {
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module whittle\n") {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
