//go:build !embedded

package embedded

import (
	"crypto/tls"
	"log/slog"

	"whittle"
	"whittle/carve/config"
)

// Check says whether this program has a server in it.
func Check() error {
	return whittle.Errorf(whittle.Unsupported, "this binary has no NATS server in it, which nats: embedded needs").WithField("fleet.nats").
		WithHint("take whittle-fleet, which is the same program with one (a release and make build have it; go install -tags embedded makes it), or name the URLs of NATS servers")
}

func start(*config.Fleet, int64, *tls.Config, *slog.Logger) (Server, error) { return nil, Check() }
