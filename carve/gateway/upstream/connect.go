package upstream

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"whittle/internal/socket"
)

// What is offered to a server by ALPN.
var (
	onlyHTTP1 = []string{"http/1.1"}
	onlyHTTP2 = []string{"h2"}
	bothHTTP  = []string{"h2", "http/1.1"}
)

// connect opens a connection, TLS included. client is the header of the PROXY
// protocol that it begins with, if any. Whatever goes wrong is a *net.OpError of a
// dial, by which it is known that nothing of a request was sent.
func (i *instance) connect(ctx context.Context, client string, spoken []string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, i.u.connectTimeout())
	defer cancel()
	var d net.Dialer
	c, err := d.DialContext(ctx, i.network, i.address)
	if err != nil {
		return nil, err
	}
	if client != "" {
		deadline, _ := ctx.Deadline()
		_ = c.SetWriteDeadline(deadline) // a connection that takes none fails by itself
		if _, err := c.Write([]byte(client)); err != nil {
			_ = c.Close()
			return nil, i.notConnected(c, err)
		}
		_ = c.SetWriteDeadline(time.Time{})
	}
	if i.u.base.Scheme != "https" {
		return c, nil
	}
	if quick := socket.Of(c); quick != nil {
		c = quick
	}
	t := tls.Client(c, i.u.tls.config(i.server, spoken))
	if err := t.HandshakeContext(ctx); err != nil {
		_ = c.Close()
		return nil, i.notConnected(c, err)
	}
	return t, nil
}

func (i *instance) notConnected(c net.Conn, err error) error {
	return &net.OpError{Op: "dial", Net: i.network, Addr: c.RemoteAddr(), Err: err}
}
