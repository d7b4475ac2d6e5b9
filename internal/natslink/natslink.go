// Package natslink connects to NATS as all of whittle does: at once or later, and again
// whenever the connection is lost; what is sent while it is away is dropped.
package natslink

import (
	"crypto/tls"
	"time"

	client "github.com/nats-io/nats.go"
)

// Settings say where NATS is, and who connects.
type Settings struct {
	// Servers are one or several, nats://host:port separated by commas.
	Servers string
	// Credentials is a .creds file. Empty: none.
	Credentials string
	// TLS encrypts the connection. Nil: as the URL says.
	TLS *tls.Config
}

// Connect connects under a name, with what the caller adds. An error means that the
// settings are wrong; NATS may be away.
func Connect(s Settings, name string, more ...client.Option) (*client.Conn, error) {
	o := []client.Option{
		client.Name(name), client.MaxReconnects(-1), client.RetryOnFailedConnect(true),
		client.ReconnectWait(200 * time.Millisecond), client.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		client.IgnoreAuthErrorAbort(), // whoever keeps the credentials may be mending them
		client.ReconnectBufSize(-1),   // what is sent while it is away is late when it is back
		client.PingInterval(2 * time.Second), client.MaxPingsOutstanding(2), client.Timeout(time.Second),
	}
	if s.Credentials != "" {
		o = append(o, client.UserCredentials(s.Credentials))
	}
	if s.TLS != nil {
		o = append(o, client.Secure(s.TLS))
	}
	return client.Connect(s.Servers, append(o, more...)...)
}
