package run

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kept is how many connections to its upstreams a process keeps for the next requests: as
// many as its last burst needed, which says nothing of what it leaks. Those that the upstream
// has ended are among them, since a process sees that when it looks at them next. Where there
// is no /proc it is 0.
func kept(pid int, upstreams []string) int {
	proc := fmt.Sprintf("/proc/%d/", pid)
	links, _ := filepath.Glob(proc + "fd/*")
	own := map[string]bool{}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil {
			own[to] = true
		}
	}
	table, _ := os.ReadFile(proc + "net/tcp")
	return leading(table, upstreams, own)
}

// leading counts the connections of a table of TCP, as Linux writes it, that lead to one of
// the addresses and are among sockets.
func leading(table []byte, addrs []string, sockets map[string]bool) (n int) {
	const remote, inode = 2, 9
	ends := make([]string, len(addrs))
	for i, addr := range addrs {
		if at, err := netip.ParseAddrPort(addr); err == nil && at.Addr().Is4() {
			ip := at.Addr().As4()
			slices.Reverse(ip[:]) // of a machine that is little-endian
			ends[i] = fmt.Sprintf("%X:%04X", ip, at.Port())
		}
	}
	for line := range bytes.Lines(table) {
		f := strings.Fields(string(line))
		if len(f) > inode && slices.Contains(ends, f[remote]) && sockets["socket:["+f[inode]+"]"] {
			n++
		}
	}
	return n
}
