package main

import (
	"context"
	"net"
	"net/netip"
	"time"

	"golang.org/x/net/netutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"whittle"
	"whittle/systems/daemon"
	"whittle/systems/emojify/api"
	"whittle/systems/emojify/draw"
	"whittle/systems/emojify/facebox"
	"whittle/systems/emojify/fetch"
	"whittle/systems/emojify/picture"
)

// apiFlags say how the API works.
type apiFlags struct {
	Allow []netip.Prefix `placeholder:"CIDR" help:"Networks that pictures may be fetched from although they are not public, such as 127.0.0.0/8 to try it out. None: public ones only."`

	Workers    int           `group:"limits" default:"0" placeholder:"N" help:"Pictures worked on at once. 0: as many as there are cores."`
	Queue      int           `group:"limits" default:"100" placeholder:"N" help:"Pictures that may wait; one more is refused (${default})."`
	JobTimeout time.Duration `group:"limits" default:"30s" placeholder:"TIME" help:"For the work on one picture (${default})."`
	MaxConns   int           `group:"limits" default:"4096" placeholder:"N" help:"Connections open at once (${default}); more wait to be accepted."`

	CacheTimeout   time.Duration `group:"cache" default:"2s" placeholder:"TIME" help:"For a call, or a stream's next message (${default})."`
	FaceboxTimeout time.Duration `group:"facebox" default:"5s" placeholder:"TIME" help:"For a call (${default})."`

	DebugPrint bool `group:"faults" help:"Print every response of the cache to standard output, as somebody once forgot to take out."`
}

func (f *apiFlags) check() error {
	for name, bad := range map[string]bool{
		"--queue": f.Queue < 1, "--job-timeout": f.JobTimeout <= 0, "--max-conns": f.MaxConns < 1,
		"--cache-timeout": f.CacheTimeout <= 0, "--facebox-timeout": f.FaceboxTimeout <= 0,
	} {
		if bad {
			return whittle.Errorf(whittle.Invalid, "%s must be above 0", name)
		}
	}
	return nil
}

// open adds the API to the process, before the two services at these addresses.
func (f *apiFlags) open(h *daemon.Process, l net.Listener, limits picture.Limits, cacheAddress, faceboxURL string) error {
	if err := f.check(); err != nil {
		return err
	}
	conn, err := dial(cacheAddress)
	if err != nil {
		return err
	}
	h.OnEnd(func() { _ = conn.Close() }) // which fails only when done before
	finder, err := facebox.NewClient(faceboxURL)
	if err != nil {
		return err
	}
	h.OnEnd(finder.Close)
	a, err := api.New(api.Options{
		Cache: conn, Metrics: h.Registry, Log: h.Log,
		Workers: f.Workers, Queue: f.Queue, JobTimeout: f.JobTimeout,
		CacheTimeout: f.CacheTimeout, FinderTimeout: f.FaceboxTimeout, DebugPrint: f.DebugPrint, MaxUpload: limits.Bytes,
		Fetcher: fetch.New(fetch.Options{Limits: limits, Allow: f.Allow}), Finder: finder, Painter: draw.New(limits),
	})
	if err != nil {
		return err
	}
	s := h.HTTP(daemon.NewServer(a, h.Log), netutil.LimitListener(l, f.MaxConns))
	shutdown := s.Shutdown
	s.Shutdown = func(ctx context.Context) {
		shutdown(ctx)
		a.Close(ctx)
	}
	h.Add(daemon.Public, l, s)
	return nil
}

// dial returns a connection that is made when it is first needed, and again as
// soon as it can be.
func dial(address string) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		// Room for a whole picture under way: fewer, longer reads.
		grpc.WithReadBufferSize(128<<10), grpc.WithInitialWindowSize(1<<20), grpc.WithInitialConnWindowSize(8<<20),
		grpc.WithDisableRetry(), grpc.WithDisableServiceConfig(),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
	)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "--cache %q: %w", address, err)
	}
	return conn, nil
}

type apiVerb struct {
	Listen  string `default:":9090" placeholder:"ADDRESS" help:"Address to listen on (${default})."`
	Admin   string `default:"127.0.0.1:9091" placeholder:"ADDRESS" help:"Loopback address of health, metrics and profiles (${default})."`
	Cache   string `group:"cache" default:"127.0.0.1:9092" placeholder:"ADDRESS" help:"Address of the cache's gRPC (${default})."`
	Facebox string `group:"facebox" default:"http://127.0.0.1:8080" placeholder:"URL" help:"Address of face detection (${default}); a real FaceBox will do."`
	apiFlags
	pictureFlags
	processFlags
}

// Run serves the API until ctx ends.
func (v *apiVerb) Run(ctx context.Context, s streams) error {
	limits, err := v.limits()
	if err != nil {
		return err
	}
	return v.serve(ctx, s, v.Listen, v.Admin, func(h *daemon.Process, port net.Listener) error {
		return v.open(h, port, limits, v.Cache, v.Facebox)
	})
}
