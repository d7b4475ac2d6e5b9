package main

import (
	"context"
	"net"

	"whittle"
)

// listenAdmin opens a port that must be loopback: what it serves is for
// operators and nobody else.
func listenAdmin(ctx context.Context, address string) (net.Listener, error) {
	l, err := listen(ctx, "admin", address)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		l.Close()
		return nil, whittle.Errorf(whittle.Invalid, "--admin %s is not a loopback address", address).
			WithHint("profiles and metrics never leave the machine: use 127.0.0.1, [::1] or localhost")
	}
	return l, nil
}
