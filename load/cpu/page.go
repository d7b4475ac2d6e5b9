package cpu

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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

// newPage watches a server's Prometheus metrics page. It opens a connection for each
// reading: a kept one would add to those that the target holds.
func newPage(raw string) (*Watch, error) {
	at, err := url.Parse(raw)
	if err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" {
		return nil, whittle.Errorf(whittle.Invalid, "watch %q: not of the form http://host[:port]/metrics", raw)
	}
	if at.Path == "" {
		at.Path = "/metrics"
	}
	shown := *at
	shown.User, shown.RawQuery = nil, ""
	p := page{url: at.String(), name: shown.String(), client: &http.Client{Timeout: pageTimeout, Transport: &http.Transport{DisableKeepAlives: true}}}
	return &Watch{Process: Process{Name: p.name}, page: true, read: func(ctx context.Context) (time.Duration, error) {
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
	}}, nil
}

type page struct {
	url, name string
	client    *http.Client
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
func (p *page) get(ctx context.Context) ([]byte, error) {
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
