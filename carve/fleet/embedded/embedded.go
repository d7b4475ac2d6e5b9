// Package embedded starts a gateway's own NATS server. Only programs built with the tag
// embedded contain one, such as whittle-fleet.
package embedded

import (
	"crypto/tls"
	"log/slog"
	"net"

	"whittle/carve/config"
	"whittle/carve/fleet/jetstream"
)

// Server is a NATS server in this process.
type Server interface {
	// InProcessConn connects to it.
	InProcessConn() (net.Conn, error)
	// Password is what its client shows.
	Password() string
	// Trouble is what keeps it from being of use, as far as is known. Empty: nothing.
	Trouble() string
	// End ends it, and returns when it has let go of everything; Resume starts it again.
	End()
	Resume() error
}

// Start starts this gateway's server, which is not waited for.
func Start(f *config.Fleet, c *tls.Config, log *slog.Logger) (Server, error) {
	return start(f, jetstream.Room(f.MaxBytes), c, log)
}
