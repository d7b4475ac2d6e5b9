package load

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

// cpuSource is a server that reports how much CPU time it has used.
type cpuSource interface {
	// open takes the first reading, or returns why there is none.
	open(ctx context.Context) error
	// reopen takes the first reading again, where time has passed before start.
	reopen(ctx context.Context) error
	// start begins to read in the background; finish takes the last reading. Each
	// is called once.
	start(ctx context.Context)
	finish()
	// used returns the CPU time since the first reading; gone: the last reading
	// failed.
	used() (d time.Duration, gone bool)
	name() string
	// note is a caveat about the figure, or empty.
	note() string
}

// Bounds on watched pages.
const (
	pageTimeout  = 2 * time.Second
	maxPageBytes = 8 << 20
	maxPages     = 16
)

// IsProfileURL reports whether a URL is one of Go's net/http/pprof, by its path:
// /debug/pprof, or anything below it.
func IsProfileURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && strings.HasPrefix(strings.TrimSuffix(u.Path, "/")+"/", "/debug/pprof/")
}

// openPages takes the first reading of each URL.
func openPages(ctx context.Context, urls []string) ([]cpuSource, error) {
	if len(urls) > maxPages {
		return nil, whittle.Errorf(whittle.Invalid, "watch %d URLs: %d at most", len(urls), maxPages)
	}
	var out []cpuSource
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, whittle.Errorf(whittle.Invalid, "watch %q: not of the form http://host[:port]/metrics or …/debug/pprof/", raw)
		}
		var s cpuSource = newMetricsPage(u)
		if IsProfileURL(raw) {
			s = newProfilePage(u)
		}
		if err := s.open(ctx); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// rewatch takes the first readings again, so that the CPU time of the flow before
// the run is not counted.
func rewatch(ctx context.Context, ps []Process, pages []cpuSource) ([]*processWatch, error) {
	for _, p := range pages {
		if err := p.reopen(ctx); err != nil {
			return nil, err
		}
	}
	return watch(ps)
}

// pageClient opens a connection for each reading: a kept one would add to those
// that the target holds.
func pageClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
}
