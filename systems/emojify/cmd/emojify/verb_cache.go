package main

import (
	"context"
	"net"
	"time"

	"whittle"
	"whittle/systems/daemon"
	"whittle/systems/emojify/cache"
)

// cacheFlags say what the cache keeps.
type cacheFlags struct {
	Dir      string        `group:"cache" default:"emojify-cache" placeholder:"DIR" help:"Folder of finished pictures, of its own (${default})."`
	TTL      time.Duration `group:"cache" name:"ttl" default:"24h" placeholder:"TIME" help:"How long a picture is kept (${default})."`
	MaxBytes int64         `group:"cache" default:"1073741824" placeholder:"N" help:"Bytes that all pictures may take (${default}); beyond, the least recently used go."`
	MaxItem  int64         `group:"cache" default:"16777216" placeholder:"N" help:"Bytes of the largest picture (${default})."`
}

// open adds the cache to the process.
func (f *cacheFlags) open(h *daemon.Process, said string, l net.Listener) error {
	for name, bad := range map[string]bool{"--ttl": f.TTL <= 0, "--max-bytes": f.MaxBytes < 1, "--max-item": f.MaxItem < 1} {
		if bad {
			return whittle.Errorf(whittle.Invalid, "%s must be above 0", name)
		}
	}
	store, err := cache.Open(f.Dir, cache.Options{MaxBytes: f.MaxBytes, MaxItem: f.MaxItem, TTL: f.TTL})
	if err != nil {
		return err
	}
	h.OnEnd(func() {
		if err := store.Close(); err != nil {
			h.Log.Warn("closing the cache failed", "err", err)
		}
	})
	s := cache.NewServer(store, h.Registry, h.Log)
	h.Add(said, l, daemon.Service{Serve: func() error { return s.Serve(l) }, Shutdown: s.Shutdown})
	return nil
}

type cacheVerb struct {
	Listen string `default:"127.0.0.1:9092" placeholder:"ADDRESS" help:"Address to serve gRPC on (${default}). Whoever reaches it may read and write."`
	Admin  string `default:"127.0.0.1:9093" placeholder:"ADDRESS" help:"Loopback address of health, metrics and profiles (${default})."`
	cacheFlags
	processFlags
}

// Run serves the cache until ctx ends.
func (v *cacheVerb) Run(ctx context.Context, s streams) error {
	return v.serve(ctx, s, v.Listen, v.Admin, func(h *daemon.Process, port net.Listener) error { return v.open(h, daemon.Public, port) })
}
