//go:build linux

package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle/internal/fatal"
)

// listeningOn gives the addresses that a process listens on, as the kernel
// writes them: what is left on would be among them.
func listeningOn(t *testing.T, pid int) (out []string) {
	t.Helper()
	folder := fmt.Sprintf("/proc/%d", pid)
	fds, err := os.ReadDir(filepath.Join(folder, "fd"))
	fatal.If(t, err)
	var sockets []string
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(folder, "fd", fd.Name())); err == nil && strings.HasPrefix(to, "socket:[") {
			sockets = append(sockets, strings.Trim(strings.TrimPrefix(to, "socket:"), "[]"))
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		b, err := os.ReadFile(filepath.Join(folder, "net", table))
		fatal.If(t, err)
		for row := range strings.Lines(string(b)) {
			if f := strings.Fields(row); len(f) > 9 && f[3] == "0A" && slices.Contains(sockets, f[9]) {
				out = append(out, f[1])
			}
		}
	}
	slices.Sort(out)
	return out
}
