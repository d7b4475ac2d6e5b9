package collect

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listener is a listening TCP socket of this machine.
type listener struct {
	port     int
	inode    string
	loopback bool
}

// listeners are those of a network, by its folder in the form of /proc/net. Where there is
// none, nothing is known.
func listeners(folder string) (out []listener) {
	const listen = "0A" // TCP_LISTEN
	for _, file := range []string{"tcp", "tcp6"} {
		text, _ := os.ReadFile(filepath.Join(folder, file))
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != listen {
				continue
			}
			address, port, _ := strings.Cut(fields[1], ":")
			if n, err := strconv.ParseUint(port, 16, 16); err == nil {
				out = append(out, listener{port: int(n), inode: fields[9], loopback: isLoopback(address)})
			}
		}
	}
	return out
}

// isLoopback reads an address as the kernel prints it: 4-byte words in the
// machine's order, so 127.0.0.1 ends in 7F on little-endian machines.
func isLoopback(hex string) bool {
	switch len(hex) {
	case 8:
		return strings.HasSuffix(hex, "7F")
	case 32:
		return hex == "00000000000000000000000001000000" ||
			strings.HasPrefix(hex, "0000000000000000FFFF0000") && strings.HasSuffix(hex, "7F")
	}
	return false
}

// Exposed says whether a profiling port can be reached from other machines: its
// host is not this one's loopback, or it listens on more than loopback. What
// cannot be found out is not reported.
func Exposed(target string) bool {
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return true
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return false
	}
	return slices.ContainsFunc(listeners("/proc/net"), func(l listener) bool { return l.port == port && !l.loopback })
}
