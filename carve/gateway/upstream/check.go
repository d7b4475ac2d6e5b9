package upstream

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"
)

// health is what an instance's checks have come to. The zero value is healthy.
type health struct {
	known bool
	// row counts the checks in a row that contradict what holds.
	row int
}

// maxCheckBody is how much is read of a check's response.
const maxCheckBody = 64 << 10

// check checks the instance again and again until ctx ends. The first check comes
// at once, give or take a tenth of the interval, and settles what holds by itself.
func (i *instance) check(ctx context.Context) {
	h := &i.u.spec.Health
	wait := time.Duration(rand.Float64() * float64(h.Interval) / 10)
	for {
		next := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			next.Stop()
			return
		case <-next.C:
		}
		err := i.probe(ctx)
		if ctx.Err() != nil {
			return
		}
		i.checked(err)
		wait = time.Duration((0.9 + 0.2*rand.Float64()) * float64(h.Interval))
	}
}

// probe makes one check. It takes no slot: an instance that is busy is not ill.
func (i *instance) probe(ctx context.Context) error {
	h := &i.u.spec.Health
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	client := i.u.preface("", "")
	if h.Path == "" {
		c, err := i.connect(ctx, client, bothHTTP)
		if err == nil {
			_ = c.Close() // that it could be opened is enough
		}
		return err
	}
	target := i.u.target(h.Path)
	to := i.u.url(target)
	if client != "" {
		to.Host = hostOf(client)
	}
	q := (&http.Request{
		Method: http.MethodGet, URL: to, Host: i.u.hostFor(""), Header: http.Header{"User-Agent": {"whittle-health-check"}},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	resp, err := i.ways.Load().by[wayNew].RoundTrip(q)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < h.Least || resp.StatusCode > h.Most {
		return fmt.Errorf("%s answered %d", h.Path, resp.StatusCode)
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxCheckBody))
	return err
}

// checked takes in the result of a check.
func (i *instance) checked(err error) {
	u := i.u
	u.mu.Lock()
	defer u.mu.Unlock()
	if err != nil {
		u.checksFailed.Add(1)
	}
	if i.closed || u.closed {
		return
	}
	first := !i.health.known
	i.health.known = true
	if (err != nil) == i.unhealthy {
		i.health.row = 0
		return
	}
	i.health.row++
	need := u.spec.Health.Unhealthy
	if i.unhealthy {
		need = u.spec.Health.Healthy
	}
	if i.health.row < need && !first {
		return
	}
	i.health.row = 0
	i.unhealthy = err != nil
	if i.unhealthy {
		u.log.Warn("an instance is unhealthy", "upstream", u.name(), "instance", i.address, "err", err)
	} else {
		u.log.Info("an instance is healthy again", "upstream", u.name(), "instance", i.address)
	}
	u.regroup()
}
