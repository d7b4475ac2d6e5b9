package server

import (
	"context"
	"log/slog"
	"net"
	"time"

	"whittle"
)

// Flags are those of every server. Each is also COUNT_NAME in the environment.
type Flags struct {
	Listen   string        `default:":6666" placeholder:"ADDRESS" help:"Public address (${default}); port 0 takes a free one."`
	Admin    string        `default:"127.0.0.1:6667" placeholder:"ADDRESS" help:"Loopback address of health, metrics and profiles (${default})."`
	Deadline time.Duration `default:"30s" placeholder:"TIME" help:"Longest time for one call (${default})."`
	Drain    time.Duration `default:"10s" placeholder:"TIME" help:"How long calls under way may take after SIGTERM (${default})."`
	MaxConns int           `default:"4096" placeholder:"N" help:"Public connections open at once (${default}); more wait to be accepted."`
	LogLevel slog.Level    `default:"INFO" placeholder:"LEVEL" help:"DEBUG, INFO, WARN or ERROR (${default})."`
	LogJSON  bool          `name:"log-json" help:"Log in JSON."`
}

// check finds what no single flag can see.
func (f *Flags) check(ctx context.Context) error {
	publicPort, err := port(ctx, "listen", f.Listen)
	if err != nil {
		return err
	}
	adminPort, err := port(ctx, "admin", f.Admin)
	switch {
	case err != nil:
		return err
	case adminPort == publicPort && adminPort != 0:
		return whittle.Errorf(whittle.Invalid, "--admin %s has the public port", f.Admin).
			WithHint("give --admin a port of its own")
	case f.Deadline <= 0:
		return whittle.Errorf(whittle.Invalid, "--deadline is %v, it must be above 0", f.Deadline)
	case f.Drain < 0:
		return whittle.Errorf(whittle.Invalid, "--drain is %v, it must not be below 0", f.Drain)
	case f.MaxConns < 1:
		return whittle.Errorf(whittle.Invalid, "--max-conns is %d, it must be at least 1", f.MaxConns)
	}
	return nil
}

func port(ctx context.Context, name, address string) (int, error) {
	_, service, err := net.SplitHostPort(address)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "--%s %q is not host:port", name, address).
			WithHint("for example --" + name + " 127.0.0.1:6666, or port 0 for a free one")
	}
	n, err := net.DefaultResolver.LookupPort(ctx, "tcp", service)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "--%s %q has no usable port", name, address)
	}
	return n, nil
}
