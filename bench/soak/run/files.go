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
// many as its last burst needed, which says nothing of what it leaks. One that an upstream
// has ended and the process has not is none of them. Where there is no /proc it is 0.
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
	return established(table, upstreams, own)
}

// established counts the connections of a table of TCP, as Linux writes it, that are open
// both ways, lead to one of the addresses, and are among sockets.
func established(table []byte, addrs []string, sockets map[string]bool) (n int) {
	const remote, state, inode, open = 2, 3, 9, "01"
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
		if len(f) > inode && f[state] == open && slices.Contains(ends, f[remote]) && sockets["socket:["+f[inode]+"]"] {
			n++
		}
	}
	return n
}
