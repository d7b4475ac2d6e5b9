package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
)

// cpuMetric is the counter, in seconds, that the Prometheus client libraries of
// Go, Node.js, Python and Java all export.
const cpuMetric = "process_cpu_seconds_total"

// sampleEvery is the time between two readings.
const sampleEvery = time.Second

// Bounds on watched pages.
const (
	pageTimeout  = 2 * time.Second
	maxPageBytes = 8 << 20
	maxPages     = 16
)

// Page is a server's Prometheus metrics page, which has the CPU time that it has used.
type Page struct {
	url    string
	name   string // the URL without what is secret, as reports and errors have it
	client *http.Client
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	first, last time.Duration
	gone        bool
	replaced    bool // the process has ended, and another has its page
}

// OpenPages takes the first reading of each page, or returns why there is none.
func OpenPages(ctx context.Context, urls []string) ([]*Page, error) {
	if len(urls) > maxPages {
		return nil, whittle.Errorf(whittle.Invalid, "watch %d URLs: %d at most", len(urls), maxPages)
	}
	var out []*Page
	for _, raw := range urls {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return nil, whittle.Errorf(whittle.Invalid, "watch %q: not of the form http://host[:port]/metrics", raw)
		}
		p := newPage(u)
		if err := p.Open(ctx); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// newPage opens a connection for each reading: a kept one would add to those that the
// target holds.
func newPage(u *url.URL) *Page {
	at := *u
	if at.Path == "" {
		at.Path = "/metrics"
	}
	shown := at
	shown.User, shown.RawQuery = nil, ""
	return &Page{
		url: at.String(), name: shown.String(),
		client: &http.Client{Timeout: pageTimeout, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// Name is the page's in the report.
func (p *Page) Name() string { return p.name }

// Open takes the first reading; again, where time has passed before Start.
func (p *Page) Open(ctx context.Context) (err error) {
	p.first, err = p.read(ctx)
	p.last = p.first
	return err
}

// Start reads the page once a second until Finish. A server that hangs delays
// only this goroutine.
func (p *Page) Start(ctx context.Context) {
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.wg.Go(func() {
		t := time.NewTicker(sampleEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.sample(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
}

// Finish takes the last reading.
func (p *Page) Finish() {
	p.stop()
	p.wg.Wait()
	p.sample(context.Background())
}

func (p *Page) sample(ctx context.Context) {
	d, err := p.read(ctx)
	if errors.Is(err, context.Canceled) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.replaced = p.replaced || err == nil && d < p.last
	if p.gone = err != nil || p.replaced; !p.gone {
		p.last = d
	}
}

// Used is the CPU time since the first reading; gone: the last one failed.
func (p *Page) Used() (d time.Duration, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last - p.first, p.gone
}

func (p *Page) read(ctx context.Context) (time.Duration, error) {
	b, err := p.get(ctx)
	if err != nil {
		return 0, err
	}
	d, err := parseMetricsPage(b)
	if err != nil {
		return 0, whittle.Errorf(whittle.Invalid, "watch %s: %w", p.name, err).
			WithHint("the page must be of Prometheus's text format and hold " + cpuMetric)
	}
	return d, nil
}

// parseMetricsPage adds up the samples of process_cpu_seconds_total: there is
// one for each worker where a server runs as several processes.
func parseMetricsPage(b []byte) (time.Duration, error) {
	sum, found := 0.0, false
	for line := range bytes.Lines(b) {
		rest, ok := strings.CutPrefix(string(line), cpuMetric)
		if !ok || rest == "" {
			continue
		}
		switch rest[0] {
		case '{':
			i := strings.LastIndexByte(rest, '}')
			if i < 0 {
				return 0, fmt.Errorf("%s has labels without an end", cpuMetric)
			}
			rest = rest[i+1:]
		case ' ', '\t':
		default:
			continue // another metric with this prefix
		}
		fields := strings.Fields(rest) // the value and, in some, a timestamp
		if len(fields) == 0 {
			return 0, fmt.Errorf("%s has no value", cpuMetric)
		}
		v, err := strconv.ParseFloat(fields[0], 64)
		if err != nil || !(v >= 0) || math.IsInf(v, 1) {
			return 0, fmt.Errorf("%s is %q", cpuMetric, fields[0])
		}
		sum, found = sum+v, true
	}
	if !found {
		return 0, fmt.Errorf("no %s on the page", cpuMetric)
	}
	if sum > 1e9 {
		return 0, fmt.Errorf("%s is %g seconds", cpuMetric, sum)
	}
	return time.Duration(sum * float64(time.Second)), nil
}

// get reads the whole page. One that is too long is an error, and so is a response other
// than 200.
func (p *Page) get(ctx context.Context) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return nil, whittle.Errorf(whittle.Invalid, "watch %s: %w", p.name, err)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, whittle.Errorf(whittle.Unavailable, "watch %s: %w", p.name, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxPageBytes+1))
	switch {
	case err != nil:
		return nil, whittle.Errorf(whittle.Unavailable, "watch %s: %w", p.name, err)
	case resp.StatusCode != http.StatusOK:
		return nil, whittle.Errorf(whittle.Unavailable, "watch %s: the response is %s: %.200s", p.name, resp.Status, strings.TrimSpace(string(b)))
	case int64(len(b)) > maxPageBytes:
		return nil, whittle.Errorf(whittle.ResourceExhausted, "watch %s: the page has more than %d bytes", p.name, maxPageBytes)
	}
	return b, nil
}
