package load

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"
)

// dial opens a connection before the deadline, to the first of the name's
// addresses that accepts it.
func (l *eventLoop) dial(ctx context.Context, e *endpoint, deadline time.Time) (*conn, error) {
	to, err := l.resolve(ctx, e, deadline)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range to {
		// An address that does not respond leaves time for the others.
		left := deadline.Sub(l.session.now()) / time.Duration(len(to)-i)
		k, err := l.connect(a, deadline.Add(left-deadline.Sub(l.session.now())))
		if err == nil {
			c := &conn{stream: k, endpoint: e}
			c.responseReader = responseReader{in: k, now: l.session.options.Now, buf: make([]byte, firstBuffer)}
			return c, nil
		}
		if first == nil {
			first = err
		}
		if l.aborted {
			break
		}
	}
	return nil, first
}

// resolveTTL is how long a name's addresses are cached.
const resolveTTL = 5 * time.Second

// resolvedName is a cached name look-up.
type resolvedName struct {
	addresses  []netip.AddrPort
	at         time.Time
	refreshing bool // a fiber is looking it up again
}

// resolve returns the addresses of an endpoint, at least one. While one fiber
// looks a name up again, the others use the cached addresses.
func (l *eventLoop) resolve(ctx context.Context, e *endpoint, deadline time.Time) ([]netip.AddrPort, error) {
	r := l.addresses[e]
	if r == nil {
		r = &resolvedName{}
		l.addresses[e] = r
		if a, err := netip.ParseAddrPort(e.address); err == nil {
			r.addresses = []netip.AddrPort{a}
		}
	}
	literal := r.addresses != nil && r.at.IsZero()
	if literal || r.addresses != nil && (r.refreshing || l.session.now().Sub(r.at) < resolveTTL) {
		return r.addresses, nil
	}
	var to []netip.AddrPort
	var err error
	r.refreshing = true
	l.running.runBlocking(func() { to, err = lookUp(ctx, e.address, deadline.Sub(l.session.now())) })
	r.refreshing = false
	if err != nil {
		return nil, err
	}
	r.addresses, r.at = to, l.session.now()
	return to, nil
}

func lookUp(ctx context.Context, address string, within time.Duration) ([]netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, &net.AddrError{Err: "not a port", Addr: address}
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	to := make([]netip.AddrPort, len(ips))
	for i, ip := range ips {
		to[i] = netip.AddrPortFrom(ip, uint16(port))
	}
	return to, nil
}

// zoneIndex is the number of a network interface; 0: there is none.
func zoneIndex(name string) uint32 {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n)
	}
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0
	}
	return uint32(i.Index)
}

// loopPool holds one event loop's kept-alive connections to one endpoint.
type loopPool struct {
	idle    []*conn // most recently used last
	inUse   int
	waiters []*fiber // first come, first served
}

// acquire is as connector says.
func (l *eventLoop) acquire(e *endpoint, deadline time.Time) (*conn, error) {
	p := l.pools[e]
	if p == nil {
		p = &loopPool{}
		l.pools[e] = p
	}
	if p.inUse >= l.poolSize {
		f := l.running
		p.waiters = append(p.waiters, f)
		switch why := f.wait(deadline); why {
		case wokenReady: // release passed its slot on to this fiber
		default:
			p.removeWaiter(f)
			if why == wokenByDeadline {
				return nil, os.ErrDeadlineExceeded
			}
			return nil, errRunEnded
		}
	} else {
		p.inUse++
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if l.session.now().Sub(c.idleSince) < idleCheckAfter || !c.closedByPeer() {
			return c, nil
		}
		_ = c.Close() // the peer has closed it already
	}
	return nil, nil
}

func (p *loopPool) removeWaiter(f *fiber) {
	for i, w := range p.waiters {
		if w == f {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			return
		}
	}
}

// release is as connector says.
func (l *eventLoop) release(e *endpoint, c *conn) {
	p := l.pools[e]
	if c != nil {
		p.idle = append(p.idle, c)
	}
	if len(p.waiters) == 0 {
		p.inUse--
		return
	}
	next := p.waiters[0]
	p.waiters = p.waiters[1:]
	l.timers.remove(next)
	l.ready = append(l.ready, next)
}

func (l *eventLoop) close(c *conn) { _ = c.Close() } // closed either way

func (l *eventLoop) closeIdle() {
	for _, p := range l.pools {
		for _, c := range p.idle {
			_ = c.Close() // unused
		}
		p.idle = nil
	}
}
