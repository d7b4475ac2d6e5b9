//go:build embedded

package embedded

import (
	"crypto/tls"
	"log/slog"

	"whittle/carve/config"
	"whittle/carve/fleet/natsserver"
)

// Check says whether this program has a server in it.
func Check() error { return nil }

func start(f *config.Fleet, most int64, c *tls.Config, log *slog.Logger) (Server, error) {
	s, err := natsserver.Start(natsserver.Options{
		Cluster: f.Name, Name: f.Member, Listen: f.Listen, Peers: f.Peers, Secret: f.Secret, TLS: c,
		Dir: f.Store, MaxBytes: most, Log: log,
	})
	if err != nil {
		return nil, err // not a server that is nil inside
	}
	return s, nil
}
