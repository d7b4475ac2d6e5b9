package load

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

// cpuSource is a server that says itself how much CPU time it has used.
type cpuSource interface {
	// open takes a first reading, or says why there is none.
	open(ctx context.Context) error
	// again takes the first reading anew, where much came between it and follow.
	again(ctx context.Context) error
	// follow begins to read in the background; end takes the last reading. Each
	// is called once.
	follow(ctx context.Context)
	end()
	// used is since the first reading; gone: the last one failed.
	used() (d time.Duration, gone bool)
	name() string
	// note is what to know of the figure before using it, or empty.
	note() string
}

// What a watched page may take.
const (
	pageTimeout  = 2 * time.Second
	maxPageBytes = 8 << 20
	maxPages     = 16
)

// IsProfileURL says whether a URL is that of Go's net/http/pprof, by its path:
// /debug/pprof, or anything below it.
func IsProfileURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && strings.HasPrefix(strings.TrimSuffix(u.Path, "/")+"/", "/debug/pprof/")
}

// openPages takes the first reading of each.
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

// watchAgain takes the first readings anew: the flow before a run has cost the
// target what is not the run's.
func watchAgain(ctx context.Context, ps []Process, pages []cpuSource) ([]*processWatch, error) {
	for _, p := range pages {
		if err := p.again(ctx); err != nil {
			return nil, err
		}
	}
	return watch(ps)
}

// pageClient has a connection of its own for each reading: one that is kept
// would be one more that the target holds.
func pageClient(timeout time.Duration) *http.Client {
	return &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}
}
