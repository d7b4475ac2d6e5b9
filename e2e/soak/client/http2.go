package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"strings"
	"sync"

	"whittle/e2e/soak/plan"
)

// HTTP2 is the connection, or the few, that many users share.
type HTTP2 struct {
	Addr string
	// TLS as in HTTP1; nil: with prior knowledge.
	TLS *tls.Config

	once sync.Once
	t    *http.Transport
}

func (h *HTTP2) transport() *http.Transport {
	h.once.Do(func() {
		var p http.Protocols
		p.SetHTTP2(h.TLS != nil)
		p.SetUnencryptedHTTP2(h.TLS == nil)
		h.t = &http.Transport{DisableCompression: true, Protocols: &p}
		if h.TLS != nil {
			h.t.TLSClientConfig = h.TLS.Clone()
			h.t.TLSClientConfig.NextProtos = []string{"h2"}
		}
	})
	return h.t
}

// User is one of those who share it.
func (h *HTTP2) User(name string) User { return &http2User{h, name} }

type http2User struct {
	h    *HTTP2
	name string
}

func (u *http2User) Close() { u.h.transport().CloseIdleConnections() }

func (u *http2User) Ask(ctx context.Context, p *plan.Plan) Outcome {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	scheme := "https://"
	if u.h.TLS == nil {
		scheme = "http://"
	}
	body := p.Request()
	q, err := http.NewRequestWithContext(ctx, p.Method(), scheme+u.h.Addr+p.Path(), bytes.NewReader(body.Bytes()))
	if err != nil {
		return unsent(err)
	}
	if p.Way == plan.Chunked {
		q.ContentLength = -1
	}
	q.Host = "soak.example"
	for _, f := range headers(p, u.name) {
		q.Header.Set(f[0], f[1])
	}
	resp, err := u.h.transport().RoundTrip(q)
	if err != nil {
		out := broken(err)
		out.Uncertain = !strings.Contains(err.Error(), "stream error") // one that was reset had been received
		return out
	}
	defer resp.Body.Close()
	return check(p, &response{resp.StatusCode, resp.Header, resp.ContentLength, resp.Body, &resp.Trailer})
}
