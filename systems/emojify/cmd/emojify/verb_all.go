package main

import (
	"context"
	"net"

	"whittle/systems/daemon"
)

type allVerb struct {
	Listen        string `default:":9090" placeholder:"ADDRESS" help:"Address of the API (${default})."`
	Admin         string `default:"127.0.0.1:9091" placeholder:"ADDRESS" help:"Loopback address of health, metrics and profiles (${default})."`
	CacheListen   string `group:"cache" default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Address of the cache's gRPC (${default}: a free port)."`
	FaceboxListen string `group:"facebox" default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Address of face detection (${default}: a free port)."`
	apiFlags
	cacheFlags
	faceboxFlags
	pictureFlags
	processFlags
}

// Run serves all three until ctx ends. They speak over loopback, as they would
// over a network.
func (v *allVerb) Run(ctx context.Context, s streams) error {
	limits, err := v.limits()
	if err != nil {
		return err
	}
	return v.serve(ctx, s, v.Listen, v.Admin, func(h *daemon.Process, port net.Listener) error {
		cachePort, err := h.Listen(ctx, "--cache-listen", v.CacheListen)
		if err != nil {
			return err
		}
		facePort, err := h.Listen(ctx, "--facebox-listen", v.FaceboxListen)
		if err != nil {
			return err
		}
		if err := v.cacheFlags.open(h, "cache", cachePort); err != nil {
			return err
		}
		if err := v.faceboxFlags.open(h, "facebox", facePort, limits); err != nil {
			return err
		}
		return v.apiFlags.open(h, port, limits, cachePort.Addr().String(), "http://"+facePort.Addr().String())
	})
}
