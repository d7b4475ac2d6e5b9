package table

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// AnyPeers is the variable of the environment that allows peers of other versions
// than the pinned ones.
const AnyPeers = "ANY_PEERS"

var versionNumber = regexp.MustCompile(`\d+\.\d+(\.\d+)?`)

// Pinned checks that a peer is of its pinned version: a ratio
// to another version says nothing about what changed here. args make the program print
// its version, the first number of which counts. An empty want is not checked.
func Pinned(ctx context.Context, name, binary, want string, args ...string) error {
	if want == "" {
		return nil
	}
	out, _ := exec.CommandContext(ctx, binary, args...).CombinedOutput() // some print it and fail
	said := string(out)
	if i := strings.LastIndex(said, "version: "); i >= 0 { // before it may be the program's path, with numbers
		said = said[i:]
	}
	got := versionNumber.FindString(said)
	switch {
	case got == want || strings.HasPrefix(got, want+"."):
		return nil
	case os.Getenv(AnyPeers) != "":
		fmt.Printf("%s is %s, and %s is pinned\n", name, got, want)
		return nil
	}
	return fmt.Errorf("%s is %q, and %s is pinned: install that one, or set %s=1", name, got, want, AnyPeers)
}
