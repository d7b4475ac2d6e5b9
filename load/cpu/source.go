package cpu

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"whittle"
)

// Source is a server that reports how much CPU time it has used.
type Source interface {
	// Open takes the first reading, or returns why there is none.
	Open(ctx context.Context) error
	// Reopen takes the first reading again, where time has passed before Start.
	Reopen(ctx context.Context) error
	// Start begins to read in the background; Finish takes the last reading. Each
	// is called once.
	Start(ctx context.Context)
	Finish()
	// Used returns the CPU time since the first reading; gone: the last reading
	// failed.
	Used() (d time.Duration, gone bool)
	// Name is the server's in the report.
	Name() string
	// Note is a caveat about the figure, or empty.
	Note() string
}

// sampleEvery is the time between two readings.
const sampleEvery = time.Second

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

// OpenSources takes the first reading of each URL: of a metrics page or, below
// /debug/pprof/, of CPU profiles.
func OpenSources(ctx context.Context, urls []string) ([]Source, error) {
	if len(urls) > maxPages {
		return nil, whittle.Errorf(whittle.Invalid, "watch %d URLs: %d at most", len(urls), maxPages)
	}
	var out []Source
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, whittle.Errorf(whittle.Invalid, "watch %q: not of the form http://host[:port]/metrics or …/debug/pprof/", raw)
		}
		var s Source = newMetricsPage(u)
		if IsProfileURL(raw) {
			s = newProfilePage(u)
		}
		if err := s.Open(ctx); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// page is what a Source reads by HTTP.
type page struct {
	url    string
	name   string // the URL without what is secret, as reports and errors have it
	client *http.Client
}

// newPage opens a connection for each reading: a kept one would add to those that the
// target holds.
func newPage(u *url.URL, timeout time.Duration) page {
	shown := *u
	shown.User, shown.RawQuery = nil, ""
	return page{u.String(), shown.String(), &http.Client{Timeout: timeout, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// Name is the page's in the report.
func (p *page) Name() string { return p.name }

// get reads the whole page. One of more than most bytes is an error, and so is a response
// other than 200, whose hint is given.
func (p *page) get(ctx context.Context, most int64, hint string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "watch %s: %w", p.name, err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "watch %s: %w", p.name, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	switch {
	case err != nil:
		return nil, whittle.Errorf(whittle.Unavailable, "watch %s: %w", p.name, err)
	case resp.StatusCode != http.StatusOK:
		return nil, whittle.Errorf(whittle.Unavailable, "watch %s: the response is %s: %.200s", p.name, resp.Status, strings.TrimSpace(string(b))).WithHint(hint)
	case int64(len(b)) > most:
		return nil, whittle.Errorf(whittle.ResourceExhausted, "watch %s: the page has more than %d bytes", p.name, most)
	}
	return b, nil
}
