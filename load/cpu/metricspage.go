package cpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
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

// metricsPage reads a server's CPU time from its Prometheus metrics page.
type metricsPage struct {
	page
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu sync.Mutex
	// The following is guarded by mu.
	first, last time.Duration
	gone        bool
	replaced    bool // the process has ended, and another has its page
}

func newMetricsPage(u *url.URL) *metricsPage {
	at := *u
	if at.Path == "" {
		at.Path = "/metrics"
	}
	return &metricsPage{page: newPage(&at, pageTimeout)}
}

func (p *metricsPage) Note() string { return "" }

func (p *metricsPage) Open(ctx context.Context) (err error) {
	p.first, err = p.read(ctx)
	p.last = p.first
	return err
}

func (p *metricsPage) Reopen(ctx context.Context) error { return p.Open(ctx) }

// Start reads the page once a second until Finish. A server that hangs delays
// only this goroutine.
func (p *metricsPage) Start(ctx context.Context) {
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
func (p *metricsPage) Finish() {
	p.stop()
	p.wg.Wait()
	p.sample(context.Background())
}

func (p *metricsPage) sample(ctx context.Context) {
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

func (p *metricsPage) Used() (d time.Duration, gone bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last - p.first, p.gone
}

func (p *metricsPage) read(ctx context.Context) (time.Duration, error) {
	b, err := p.get(ctx, maxPageBytes, "")
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
