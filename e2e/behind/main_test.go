// Package behind runs the built whittle behind real proxies, by the configurations of
// examples/ themselves: one path through whittle, with the monolith as its backup.
package behind

import (
	"flag"
	"path/filepath"
	"testing"

	"whittle/e2e/process"
)

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
