package wire

import (
	"crypto/tls"
	"net"
	"strings"

	"whittle/load/expr"
	"whittle/load/plan"
)

// endpoint is where connections go.
type endpoint struct {
	address string // host:port
	host    string // the Host header
	prefix  string // the path of the base URL, without a trailing slash
	tls     *tls.Config
	http2   bool // uses HTTP/2, by prior knowledge where there is no TLS
}

func parseEndpoint(base string, insecure bool) (*endpoint, error) {
	u, err := plan.ParseBase(base)
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		host: u.Host, address: u.Host,
		prefix: string(expr.AppendTarget(nil, strings.TrimSuffix(u.EscapedPath(), "/"))),
	}
	if u.Port() == "" {
		port := "80"
		if u.Scheme == "https" {
			port = "443"
		}
		e.address = net.JoinHostPort(u.Hostname(), port)
	}
	if u.Scheme == "https" {
		e.tls = &tls.Config{
			ServerName: u.Hostname(), InsecureSkipVerify: insecure, NextProtos: []string{"http/1.1"},
			ClientSessionCache: tls.NewLRUClientSessionCache(64),
		}
	}
	return e, nil
}

// plain reports whether the endpoint is plain HTTP/1.1 over TCP.
func (e *endpoint) plain() bool { return e.tls == nil && !e.http2 }

// setProtocol selects the protocol; HTTP/1.1 is the default.
func (e *endpoint) setProtocol(protocol string) {
	if protocol != HTTP2 && protocol != GRPC {
		return
	}
	e.http2 = true
	if e.tls != nil {
		e.tls.NextProtos = []string{"h2"}
	}
}
