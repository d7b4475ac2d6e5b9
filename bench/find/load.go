package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"whittle/internal/child"
	"whittle/profile"
)

// users send a service its requests, each at a steady rate, until they are stopped.
type users struct {
	stop   context.CancelFunc
	all    sync.WaitGroup
	client *http.Client
	failed atomic.Pointer[error] // the first failure
	// dear and others count the responses, of the planted endpoint and of the rest.
	dear, others atomic.Int64
}

// warm is how often each request is sent before anything is measured, so that
// V8 has optimized what it will.
const warm = 100

func (s *service) load(ctx context.Context, p *child.Process, rate float64) (*users, error) {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	h2c := new(http.Protocols)
	h2c.SetUnencryptedHTTP2(true)
	plain := &http.Transport{Protocols: protocols, MaxIdleConnsPerHost: 64}
	upgraded := &http.Transport{Protocols: h2c}
	u := &users{client: &http.Client{Transport: split{plain, upgraded}, Timeout: 10 * time.Second}}
	for i := range s.Load {
		for range warm {
			if err := u.ask(ctx, p.Public, &s.Load[i]); err != nil {
				return nil, err
			}
		}
	}
	ctx, u.stop = context.WithCancel(ctx)
	for i := range s.Load {
		count := &u.others
		if s.isDear(&s.Load[i]) {
			count = &u.dear
		}
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
				count.Add(1)
			}
		})
	}
	return u, nil
}

// isDear reports whether a request is for the planted endpoint.
func (s *service) isDear(r *request) bool {
	return profile.SameEndpoint(s.Planted.Endpoint, r.Method+" "+r.Path)
}

// mix is how many responses of the planted endpoint there were meanwhile for each of
// another. 0: it is not known.
func (u *users) mix(meanwhile func() error) (float64, error) {
	dear, others := u.dear.Load(), u.others.Load()
	err := meanwhile()
	return float64(u.dear.Load()-dear) / float64(max(u.others.Load()-others, 1)), err
}

// pause stops the users.
func (u *users) pause() {
	u.stop()
	u.all.Wait()
}

// end stops the users for good, and gives the first failure.
func (u *users) end() error {
	u.pause()
	u.client.CloseIdleConnections()
	if err := u.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// split sends by HTTP/1.1, or by HTTP/2 where the URL's scheme is h2c.
type split struct{ plain, h2c *http.Transport }

func (s split) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme == "h2c" {
		r = r.Clone(r.Context())
		r.URL.Scheme = "http"
		return s.h2c.RoundTrip(r)
	}
	return s.plain.RoundTrip(r)
}

func (s split) CloseIdleConnections() {
	s.plain.CloseIdleConnections()
	s.h2c.CloseIdleConnections()
}

// ask sends one request, and reads the response to its end.
func (u *users) ask(ctx context.Context, addr string, r *request) error {
	body, scheme := r.Body, "http"
	if r.BodyHex != "" {
		b, err := hex.DecodeString(r.BodyHex)
		if err != nil {
			return err
		}
		body = string(b)
	}
	if r.H2C {
		scheme = "h2c"
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, scheme+"://"+addr+r.Path, strings.NewReader(body))
	if err != nil {
		return err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	resp, err := u.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case resp.StatusCode >= 300:
		return fmt.Errorf("%s %s: %s: %.200s", r.Method, r.Path, resp.Status, text)
	case resp.Trailer.Get("Grpc-Status") != "" && resp.Trailer.Get("Grpc-Status") != "0":
		return fmt.Errorf("%s: grpc-status %s: %s", r.Path, resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message"))
	}
	return nil
}
