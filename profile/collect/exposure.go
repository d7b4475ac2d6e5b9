package collect

import (
	"bufio"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// listener is a listening TCP socket of this machine.
type listener struct {
	port     int
	inode    string
	loopback bool
}

// readListeners reads a file in the form of /proc/net/tcp. Where there is none,
// nothing is known.
func readListeners(path string) []listener {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var out []listener
	const listen = "0A" // TCP_LISTEN
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) < 10 || fields[3] != listen {
			continue
		}
		address, port, ok := strings.Cut(fields[1], ":")
		n, err := strconv.ParseUint(port, 16, 16)
		if !ok || err != nil {
			continue
		}
		out = append(out, listener{port: int(n), inode: fields[9], loopback: isLoopback(address)})
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
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, l := range readListeners(file) {
			if l.port == port && !l.loopback {
				return true
			}
		}
	}
	return false
}
