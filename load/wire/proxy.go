package wire

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	netproxy "golang.org/x/net/proxy"

	"whittle"
	"whittle/load/plan"
)

// proxy is how the connections to an endpoint go through a proxy.
type proxy struct {
	url     *url.URL
	address string // host:port
	// forwards says that requests are sent to the proxy, with the whole URL; otherwise
	// it connects to the endpoint, and knows nothing of what is sent.
	forwards bool
	// credentials is the Proxy-Authorization header's value, empty for none.
	credentials string
	tls         *tls.Config // of the connection to the proxy itself; nil: none
}

// proxyPorts are the schemes of proxies with their default ports, as net/http has them.
var proxyPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// setProxy makes the endpoint's connections go through a proxy. Its protocol is set.
func (e *endpoint) setProxy(u *url.URL, insecure bool) error {
	port, known := proxyPorts[u.Scheme]
	if !known || u.Hostname() == "" {
		return whittle.Errorf(whittle.Invalid, "the proxy %s is not of the form http://HOST:PORT", u.Redacted()).
			WithHint("it is what HTTP_PROXY or HTTPS_PROXY says; known are http, https, socks5 and socks5h")
	}
	p := &proxy{url: u, address: u.Host, forwards: e.tls == nil && !e.http2 && strings.HasPrefix(u.Scheme, "http"), credentials: plan.BasicLogin(u.User)}
	if u.Port() == "" {
		p.address = net.JoinHostPort(u.Hostname(), port)
	}
	if u.Scheme == "https" {
		p.tls = &tls.Config{ServerName: u.Hostname(), InsecureSkipVerify: insecure, NextProtos: []string{"http/1.1"}}
	}
	e.via = p
	return nil
}

// String names the proxy without what is secret.
func (p *proxy) String() string { return p.url.Scheme + "://" + p.url.Host }

// dialled is where connections to the endpoint go at first.
func (e *endpoint) dialled() string {
	if e.via != nil {
		return e.via.address
	}
	return e.address
}

// reached names that in an error.
func (e *endpoint) reached() string {
	if e.via != nil {
		return "the proxy " + e.via.String()
	}
	return e.address
}

// connect opens a connection to the endpoint or, where a proxy forwards, to that. TLS of
// the endpoint is not begun.
func (e *endpoint) connect(ctx context.Context) (net.Conn, error) {
	p := e.via
	if p != nil && strings.HasPrefix(p.url.Scheme, "socks5") {
		return p.socks(ctx, e.address)
	}
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", e.dialled())
	if err != nil || p == nil {
		return raw, err
	}
	c := raw
	if p.tls != nil {
		t := tls.Client(raw, p.tls)
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, err
		}
		c = t
	}
	if p.forwards {
		return c, nil
	}
	if err := p.tunnel(ctx, c, e.address); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

// socks connects through a SOCKS5 proxy, which also looks the name up.
func (p *proxy) socks(ctx context.Context, address string) (net.Conn, error) {
	var login *netproxy.Auth
	if u := p.url.User; u != nil {
		password, _ := u.Password()
		login = &netproxy.Auth{User: u.Username(), Password: password}
	}
	d, err := netproxy.SOCKS5("tcp", p.address, login, new(net.Dialer))
	if err != nil {
		return nil, err
	}
	return d.(netproxy.ContextDialer).DialContext(ctx, "tcp", address)
}

// maxTunnelHead bounds a proxy's response to CONNECT.
const maxTunnelHead = 16 << 10

// tunnel asks the proxy to connect to an address (RFC 9110, section 9.3.6).
func (p *proxy) tunnel(ctx context.Context, c net.Conn, address string) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := c.SetDeadline(deadline); err != nil {
			return err
		}
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	ask := "CONNECT " + address + " HTTP/1.1\r\nhost: " + address + "\r\nuser-agent: whittle\r\n"
	if p.credentials != "" {
		ask += "proxy-authorization: " + p.credentials + "\r\n"
	}
	if _, err := io.WriteString(c, ask+"\r\n"); err != nil {
		return err
	}
	// Byte by byte: what is behind the head belongs to the endpoint.
	var head []byte
	for !bytes.HasSuffix(head, []byte("\r\n\r\n")) {
		if len(head) >= maxTunnelHead {
			return malformed("the proxy's response to CONNECT has no end")
		}
		var b [1]byte
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return err
		}
		head = append(head, b[0])
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(head)), &http.Request{Method: http.MethodConnect})
	if err != nil {
		return malformed("the proxy's response to CONNECT: %v", err)
	}
	resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the proxy %s does not connect to %s: %.100s", p, address, resp.Status)
	}
	return c.SetDeadline(time.Time{})
}

// forwarded is a rendered request as a proxy takes it: with the whole URL, and the
// credentials for the proxy.
func (p *proxy) forwarded(dst, request []byte, host string) []byte {
	method, rest, _ := bytes.Cut(request, []byte{' '})
	line, fields, _ := bytes.Cut(rest, crlf)
	dst = append(append(append(dst[:0], method...), " http://"...), host...)
	dst = append(append(dst, line...), crlf...)
	if p.credentials != "" {
		dst = append(append(append(dst, "proxy-authorization: "...), p.credentials...), crlf...)
	}
	return append(dst, fields...)
}

// Proxies names the proxies that requests have gone through so far.
func (n *Network) Proxies() []string {
	o := n.origins
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, at := range o.known {
		if at.via != nil && !slices.Contains(out, at.via.String()) {
			out = append(out, at.via.String())
		}
	}
	slices.Sort(out)
	return out
}
