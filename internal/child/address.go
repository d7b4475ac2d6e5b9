package child

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
)

// Addresses are n addresses of this machine alone, for servers that must know each other's
// before they start, or come back where they were. They are ports of one host of their own
// within 127.0.0.0/8, so that nobody who takes any free port is given one meanwhile. Where the
// system has only 127.0.0.1, they are ports of that which were free.
func Addresses(n int) (all []string, err error) {
	first, err := lone()
	if err != nil {
		return nil, err
	}
	defer first.Close() // so that no two are the same
	all = append(all, first.Addr().String())
	host, _, _ := net.SplitHostPort(all[0]) // a listener's
	for range n - 1 {
		l, err := listen(host)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all, nil
}

// lone listens where nobody else does.
func lone() (net.Listener, error) {
	host := fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
	if l, err := listen(host); err == nil {
		return l, nil
	}
	return listen("127.0.0.1")
}

func listen(host string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(host, "0"))
}
