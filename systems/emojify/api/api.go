// Package api is emojify's public HTTP API. It takes a picture's URL, has
// workers fetch the picture, find the faces and cover them, stores the result
// in the cache service, and streams it from there to clients.
package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"whittle"
)

// Options says what an API works with. What has no default must be given.
type Options struct {
	// Cache is the connection to the cache service.
	Cache   grpc.ClientConnInterface
	Fetcher Fetcher
	Finder  Finder
	Painter Painter
	// Metrics is what the API's are added to.
	Metrics prometheus.Registerer
	Log     *slog.Logger

	// Workers is how many pictures are worked on at once. 0: as many as there
	// are cores.
	Workers int
	// Queue is how many may wait; one more is refused. 0: 100.
	Queue int
	// JobTimeout bounds the work on one picture. 0: 30 s.
	JobTimeout time.Duration
	// MaxUpload bounds a picture that is sent here, in bytes. 0: 8 MiB.
	MaxUpload int64
	// MaxUploads bounds all of those together, by the lengths that they say, until
	// they were worked on, in bytes. 0: eight of the largest.
	MaxUploads int64
	// CacheTimeout bounds a call of the cache, of a stream the wait for each message,
	// and FinderTimeout one of face detection. 0: 2 s.
	CacheTimeout, FinderTimeout time.Duration
	// DebugPrint has every response of the cache printed, on the path of GET
	// /cache/{id}. It is the mistake that this system is here to show.
	DebugPrint bool

	now func() time.Time // nil: time.Now
}

func (o Options) withDefaults() Options {
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	o.Queue = cmp.Or(o.Queue, 100)
	o.JobTimeout = cmp.Or(o.JobTimeout, 30*time.Second)
	o.MaxUpload = cmp.Or(o.MaxUpload, 8<<20)
	o.MaxUploads = max(cmp.Or(o.MaxUploads, 8*o.MaxUpload), o.MaxUpload)
	o.CacheTimeout = cmp.Or(o.CacheTimeout, 2*time.Second)
	o.FinderTimeout = cmp.Or(o.FinderTimeout, 2*time.Second)
	if o.now == nil {
		o.now = time.Now
	}
	return o
}

func (o *Options) check() error {
	if o.Workers < 0 || o.Queue < 0 || o.MaxUpload < 0 || o.MaxUploads < 0 || min(o.JobTimeout, o.CacheTimeout, o.FinderTimeout) < 0 {
		return whittle.Errorf(whittle.Invalid, "workers %d, queue %d, upload %d, uploads %d and the timeouts %v, %v and %v must not be below 0",
			o.Workers, o.Queue, o.MaxUpload, o.MaxUploads, o.JobTimeout, o.CacheTimeout, o.FinderTimeout)
	}
	return nil
}

// API is the service: an http.Handler, and workers behind it. It must be
// closed.
type API struct {
	o        Options
	log      *slog.Logger
	metrics  *metrics
	pictures *pictures
	finder   *upstream
	uploads  *semaphore.Weighted // bytes
	jobs     *jobs
	crew     *workers
	handler  http.Handler
}

// New starts the workers. Errors are Invalid, for options that cannot be.
func New(o Options) (*API, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	m := newMetrics(o.Metrics)
	a := &API{
		o: o, log: o.Log, metrics: m,
		pictures: newPictures(o.Cache, &upstream{"cache", o.CacheTimeout, m}, o.DebugPrint),
		finder:   &upstream{"face detection", o.FinderTimeout, m},
		uploads:  semaphore.NewWeighted(o.MaxUploads),
		jobs:     newJobs(o.Queue, o.now),
	}
	o.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "emojify_queue_length", Help: "Pictures that wait for a worker.",
	}, func() float64 { return float64(a.jobs.length()) }))
	a.crew = startWorkers(a, o.Workers)
	a.handler = a.routes()
	return a, nil
}

// ServeHTTP serves one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

// Close refuses new pictures, has the workers finish those that wait, and
// gives them up when ctx ends. It returns when the workers have ended.
func (a *API) Close(ctx context.Context) {
	a.jobs.close()
	a.crew.wait(ctx)
}
