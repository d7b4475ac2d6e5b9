package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"strings"

	"whittle/e2e/soak/plan"
)

// HTTP2 is the connection, or the few, that many users share.
type HTTP2 struct {
	url string
	t   *http.Transport
}

// NewHTTP2 connects by TLS as in HTTP1; nil: with prior knowledge.
func NewHTTP2(addr string, trust *tls.Config) *HTTP2 {
	h := &HTTP2{"http://" + addr, &http.Transport{DisableCompression: true, Protocols: new(http.Protocols)}}
	h.t.Protocols.SetHTTP2(trust != nil)
	h.t.Protocols.SetUnencryptedHTTP2(trust == nil)
	if trust != nil {
		h.url = "https://" + addr
		h.t.TLSClientConfig = trust.Clone()
		h.t.TLSClientConfig.NextProtos = []string{"h2"}
	}
	return h
}

// User is one of those who share it.
func (h *HTTP2) User(name string) User { return &http2User{h, name} }

type http2User struct {
	h    *HTTP2
	name string
}

func (u *http2User) Close() { u.h.t.CloseIdleConnections() }

func (u *http2User) Ask(ctx context.Context, p *plan.Plan) Outcome {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	body := p.Request()
	q, err := http.NewRequestWithContext(ctx, p.Method(), u.h.url+p.Path(), bytes.NewReader(body.Bytes()))
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
	resp, err := u.h.t.RoundTrip(q)
	if err != nil {
		out := broken(err)
		out.Uncertain = !strings.Contains(err.Error(), "stream error") // one that was reset had been received
		return out
	}
	defer resp.Body.Close()
	return check(p, &response{resp.StatusCode, resp.Header, resp.Body, &resp.Trailer})
}
