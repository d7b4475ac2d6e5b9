package main

import (
	"context"
	"net"

	"whittle"
	"whittle/systems/daemon"
	"whittle/systems/emojify/facebox"
	"whittle/systems/emojify/picture"
)

// faceboxFlags say how faces are searched for.
type faceboxFlags struct {
	FaceboxWorkers int `group:"facebox" default:"0" placeholder:"N" help:"Pictures searched at once. 0: as many as there are cores."`
}

// open adds face detection to the process. It is sent pictures, never URLs: one
// place that fetches for untrusted URLs is enough.
func (f *faceboxFlags) open(h *daemon.Process, said string, l net.Listener, limits picture.Limits) error {
	if f.FaceboxWorkers < 0 {
		return whittle.Errorf(whittle.Invalid, "--facebox-workers is %d, it must not be below 0", f.FaceboxWorkers)
	}
	s, err := facebox.New(facebox.Options{Limits: limits, Workers: f.FaceboxWorkers, Metrics: h.Registry, Log: h.Log})
	if err != nil {
		return err
	}
	h.Add(said, l, h.HTTP(s.Server(), l))
	return nil
}

type faceboxVerb struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"ADDRESS" help:"Address to listen on (${default})."`
	Admin  string `default:"127.0.0.1:9095" placeholder:"ADDRESS" help:"Loopback address of health, metrics and profiles (${default})."`
	faceboxFlags
	pictureFlags
	processFlags
}

// Run serves face detection until ctx ends.
func (v *faceboxVerb) Run(ctx context.Context, s streams) error {
	limits, err := v.limits()
	if err != nil {
		return err
	}
	return v.serve(ctx, s, v.Listen, v.Admin, func(h *daemon.Process, port net.Listener) error { return v.open(h, daemon.Public, port, limits) })
}
