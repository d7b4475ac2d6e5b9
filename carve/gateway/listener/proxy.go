package listener

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"whittle/internal/proxyproto"
)

// readProxyHeader reads the PROXY protocol header with which a connection begins, and
// nothing behind it. Only a peer in nets may send one; who connects by a Unix socket has
// no address, and is whom the socket's mode lets in.
func (c *client) readProxyHeader(ctx context.Context, nets []netip.Prefix) error {
	if peer, ok := c.Conn.RemoteAddr().(*net.TCPAddr); ok && !Within(nets, peer.AddrPort().Addr()) {
		return fmt.Errorf("%v is in none of the networks whose load balancers are believed", peer.IP)
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = c.SetReadDeadline(deadline) // where this fails, so does the read
	}
	defer context.AfterFunc(ctx, func() { _ = c.SetReadDeadline(time.Unix(1, 0)) })()
	var buf [proxyproto.MaxHeader]byte
	for have := 0; ; {
		want := have + proxyproto.Wants(buf[:have])
		if want > len(buf) {
			return errors.New("a PROXY header is too long")
		}
		n, err := io.ReadFull(c.Conn, buf[have:want])
		if have += n; err != nil {
			return err
		}
		h, n, err := proxyproto.Parse(buf[:have])
		if err != nil {
			return err
		}
		if n > 0 {
			c.proxied = h
			return c.SetReadDeadline(time.Time{})
		}
	}
}

// Within reports whether an address is in one of the networks, also one of IPv4 that is
// written as one of IPv6.
func Within(nets []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(ip.Unmap()) })
}
