package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/child"
)

// users send a service its requests, each at a steady rate, until they are stopped.
type users struct {
	stop       context.CancelFunc
	all        sync.WaitGroup
	plain, h2c *http.Client
	failed     atomic.Pointer[error] // the first failure
}

// warm is how often each request is sent first, so that V8 has optimized what it will.
const warm = 100

func (s *service) load(ctx context.Context, p *child.Process, rate float64) (*users, error) {
	u := &users{plain: newClient(false), h2c: newClient(true)}
	for i := range s.Load {
		for range warm {
			if err := u.ask(ctx, p.Public, &s.Load[i]); err != nil {
				return nil, err
			}
		}
	}
	ctx, u.stop = context.WithCancel(ctx)
	for i := range s.Load {
		u.all.Go(func() {
			tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if err := u.ask(ctx, p.Public, &s.Load[i]); err != nil && ctx.Err() == nil {
					u.failed.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	return u, nil
}

// pause stops the users.
func (u *users) pause() {
	u.stop()
	u.all.Wait()
}

// end stops the users for good, and gives the first failure.
func (u *users) end() error {
	u.pause()
	u.plain.CloseIdleConnections()
	u.h2c.CloseIdleConnections()
	if err := u.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// ask sends one request, and reads the response to its end. It fails where that is no success,
// by its status or gRPC's.
func (u *users) ask(ctx context.Context, addr string, r *request) error {
	body, client := []byte(r.Body), u.plain
	if r.BodyHex != "" {
		var err error
		if body, err = hex.DecodeString(r.BodyHex); err != nil {
			return err
		}
	}
	if r.H2C {
		client = u.h2c
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, "http://"+addr+r.Path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch status := resp.Trailer.Get("Grpc-Status"); {
	case err != nil:
		return err
	case resp.StatusCode >= 300 || status != "" && status != "0":
		return fmt.Errorf("%s %s: %s %s: %.200s", r.Method, r.Path, resp.Status, resp.Trailer.Get("Grpc-Message"), text)
	}
	return nil
}

// newClient speaks HTTP/1.1, or HTTP/2 without TLS.
func newClient(h2c bool) *http.Client {
	t := &http.Transport{MaxIdleConnsPerHost: 64, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(!h2c)
	t.Protocols.SetUnencryptedHTTP2(h2c)
	return &http.Client{Transport: t, Timeout: 10 * time.Second}
}
