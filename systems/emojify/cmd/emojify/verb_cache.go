package main

import (
	"context"
	"net"
	"time"

	"whittle"
	"whittle/systems/emojify/cache"
)

// cacheFlags say what the cache keeps.
type cacheFlags struct {
	Dir      string        `group:"cache" default:"emojify-cache" placeholder:"DIR" help:"Folder of finished pictures, of its own (${default})."`
	TTL      time.Duration `group:"cache" name:"ttl" default:"24h" placeholder:"TIME" help:"How long a picture is kept (${default})."`
	MaxBytes int64         `group:"cache" default:"1073741824" placeholder:"N" help:"Bytes that all pictures may take (${default}); beyond, the least recently used go."`
	MaxItem  int64         `group:"cache" default:"16777216" placeholder:"N" help:"Bytes of the largest picture (${default})."`
}

// open adds the cache to the process; close follows when the process has ended.
func (f *cacheFlags) open(h *runner, said string, l net.Listener) (closeStore func(), err error) {
	for name, bad := range map[string]bool{"--ttl": f.TTL <= 0, "--max-bytes": f.MaxBytes < 1, "--max-item": f.MaxItem < 1} {
		if bad {
			return nil, whittle.Errorf(whittle.Invalid, "%s must be above 0", name)
		}
	}
	store, err := cache.Open(f.Dir, cache.Options{MaxBytes: f.MaxBytes, MaxItem: f.MaxItem, TTL: f.TTL})
	if err != nil {
		return nil, err
	}
	s := cache.NewServer(store, h.registry, h.log)
	h.add(said, l, service{serve: func() error { return s.Serve(l) }, shutdown: s.Shutdown})
	return func() {
		if err := store.Close(); err != nil {
			h.log.Warn("closing the cache failed", "err", err)
		}
	}, nil
}

type cacheVerb struct {
	Listen string `default:"127.0.0.1:9092" placeholder:"ADDRESS" help:"Address to serve gRPC on (${default}). Whoever reaches it may read and write."`
	Admin  string `default:"127.0.0.1:9093" placeholder:"ADDRESS" help:"Loopback address of health, metrics and profiles (${default})."`
	cacheFlags
	processFlags
}

// Run serves the cache until ctx ends.
func (v *cacheVerb) Run(ctx context.Context, s streams) error {
	h, err := newRunner(&v.processFlags, s)
	if err != nil {
		return err
	}
	port, admin, err := ports(ctx, v.Listen, v.Admin)
	if err != nil {
		return err
	}
	defer port.Close()
	defer admin.Close()
	closeStore, err := v.open(h, public, port)
	if err != nil {
		return err
	}
	defer closeStore()
	return h.run(ctx, admin, s)
}

// ports opens the two that every verb has.
func ports(ctx context.Context, address, admin string) (p, a net.Listener, err error) {
	if p, err = listen(ctx, "listen", address); err != nil {
		return nil, nil, err
	}
	if a, err = listenAdmin(ctx, admin); err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, a, nil
}
