package main

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/sync/errgroup"

	"whittle"
	"whittle/internal/notify"
	"whittle/systems/ingest/front"
	"whittle/systems/ingest/stream"
)

// Waits between two attempts.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
)

// pause waits before attempt n+1, or as long as the other side asked for.
func pause(ctx context.Context, n int, asked time.Duration) bool {
	return notify.Sleep(ctx, max(asked, min(longestWait, firstWait<<min(n, 16))))
}

// streamTarget replays onto a stream.
type streamTarget struct{ to stream.Stream }

func (a *streamTarget) close() { closeQuietly(a.to) }

func (a *streamTarget) send(ctx context.Context, batch []stream.Entry) ([]rejection, error) {
	records := make([]stream.Record, len(batch))
	at := make([]stream.Position, len(batch))
	for i := range batch {
		records[i], at[i] = batch[i].Record, batch[i].Position
	}
	var rejected []rejection
	for attempt := 0; ; attempt++ {
		left := 0
		var last error
		for i, r := range a.to.Append(ctx, records) {
			switch {
			case r.Err == nil:
			case whittle.CodeOf(r.Err) == whittle.Invalid:
				rejected = append(rejected, rejection{at[i], r.Err.Error()})
			default:
				records[left], at[left] = records[i], at[i]
				left++
				last = r.Err
			}
		}
		if left == 0 {
			return rejected, nil
		}
		records, at = records[:left], at[:left]
		if !pause(ctx, attempt, 0) {
			return rejected, whittle.Errorf(whittle.Unavailable, "append: %w", last)
		}
	}
}

// httpTarget replays to a URL.
type httpTarget struct {
	url, key string
	queues   int
	client   *http.Client
	seed     maphash.Seed
}

func newHTTPTarget(target, key string, queues int) (*httpTarget, error) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, whittle.Errorf(whittle.Invalid, "--url %q is no http or https URL", target).
			WithHint("for example --url http://localhost:3000/import")
	}
	if queues < 1 || queues > 1024 {
		return nil, whittle.Errorf(whittle.Invalid, "--posts is %d, it must be 1 to 1024", queues)
	}
	t := &http.Transport{MaxIdleConnsPerHost: queues, ResponseHeaderTimeout: time.Minute, Proxy: http.ProxyFromEnvironment}
	return &httpTarget{url: target, key: key, queues: queues, client: &http.Client{Transport: t}, seed: maphash.MakeSeed()}, nil
}

func (p *httpTarget) close() { p.client.CloseIdleConnections() }

// send gives each key a queue, so that its events stay in order.
func (p *httpTarget) send(ctx context.Context, batch []stream.Entry) ([]rejection, error) {
	queues := make([][]*stream.Entry, p.queues)
	for i := range batch {
		e := &batch[i]
		queue := i % p.queues
		if e.Key != "" {
			queue = int(maphash.String(p.seed, e.Key) % uint64(p.queues))
		}
		queues[queue] = append(queues[queue], e)
	}
	rejected := make([][]rejection, p.queues)
	g, ctx := errgroup.WithContext(ctx)
	for i, queue := range queues {
		g.Go(func() error {
			for _, e := range queue {
				reason, err := p.one(ctx, e)
				if err != nil {
					return err
				}
				if reason != "" {
					rejected[i] = append(rejected[i], rejection{e.Position, reason})
				}
			}
			return nil
		})
	}
	err := g.Wait()
	var all []rejection
	for _, r := range rejected {
		all = append(all, r...)
	}
	return all, err
}

// one posts an event until it is taken, or rejected with a reason.
func (p *httpTarget) one(ctx context.Context, e *stream.Entry) (reason string, err error) {
	for _, h := range e.Header {
		if h.Name == "content-type" && !httpguts.ValidHeaderFieldValue(h.Value) {
			return fmt.Sprintf("its content-type %.60q cannot be sent", h.Value), nil
		}
	}
	for attempt := 0; ; attempt++ {
		status, wait, said, err := p.post(ctx, e)
		switch {
		case err == nil && status >= 200 && status < 300:
			return "", nil
		case err == nil && status >= 400 && status < 500 && status != http.StatusTooManyRequests && status != http.StatusRequestTimeout:
			return fmt.Sprintf("%d %s", status, said), nil
		case err == nil:
			err = fmt.Errorf("it responded with %d %s", status, said)
		}
		if !pause(ctx, attempt, wait) {
			return "", whittle.Errorf(whittle.Unavailable, "post %s: %w", formatPosition(e.Position), err)
		}
	}
}

func (p *httpTarget) post(ctx context.Context, e *stream.Entry) (status int, wait time.Duration, said string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, bytes.NewReader(e.Value))
	if err != nil {
		return 0, 0, "", fmt.Errorf("make request: %w", err)
	}
	for _, h := range e.Header {
		if h.Name == "content-type" {
			req.Header.Set("Content-Type", h.Value)
		}
	}
	if e.ID != "" {
		req.Header.Set("Idempotency-Key", front.IdempotencyKey(e.ID))
	}
	if p.key != "" {
		req.SetBasicAuth(p.key, "")
	}
	res, err := p.client.Do(req)
	if err != nil {
		return 0, 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return 0, 0, "", fmt.Errorf("read response: %w", err)
	}
	return res.StatusCode, retryAfter(res.Header), string(bytes.TrimSpace(text)), nil
}

// retryAfter is how long the other side asks to be left alone, at most a minute.
func retryAfter(h http.Header) time.Duration {
	seconds, _ := strconv.Atoi(h.Get("Retry-After"))
	return min(time.Minute, time.Duration(max(seconds, 0))*time.Second)
}
