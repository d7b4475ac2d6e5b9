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
// addresses that takes it.
func (l *lane) dial(ctx context.Context, e *endpoint, deadline time.Time) (*conn, error) {
	to, err := l.resolve(ctx, e, deadline)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range to {
		// An address that does not answer leaves some time for the others.
		left := deadline.Sub(l.session.now()) / time.Duration(len(to)-i)
		k, err := l.connect(a, deadline.Add(left-deadline.Sub(l.session.now())))
		if err == nil {
			c := &conn{stream: k, endpoint: e}
			c.wire = wire{in: k, now: l.session.options.Now, buf: make([]byte, firstBuffer)}
			return c, nil
		}
		if first == nil {
			first = err
		}
		if l.cut {
			break
		}
	}
	return nil, first
}

// fresh is how long the addresses of a name are taken for what they were.
const fresh = 5 * time.Second

// resolved is what a name stood for.
type resolved struct {
	to      []netip.AddrPort
	at      time.Time
	looking bool // somebody is looking it up anew
}

// resolve gives the addresses of an endpoint, at least one. While one fiber
// looks a name up anew, the others go by what is known.
func (l *lane) resolve(ctx context.Context, e *endpoint, deadline time.Time) ([]netip.AddrPort, error) {
	r := l.names[e]
	if r == nil {
		r = &resolved{}
		l.names[e] = r
		if a, err := netip.ParseAddrPort(e.address); err == nil {
			r.to = []netip.AddrPort{a}
		}
	}
	literal := r.to != nil && r.at.IsZero()
	if literal || r.to != nil && (r.looking || l.session.now().Sub(r.at) < fresh) {
		return r.to, nil
	}
	var to []netip.AddrPort
	var err error
	r.looking = true
	l.running.away(func() { to, err = lookUp(ctx, e.address, deadline.Sub(l.session.now())) })
	r.looking = false
	if err != nil {
		return nil, err
	}
	r.to, r.at = to, l.session.now()
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

// lanePool are one endpoint's kept-alive connections of a lane.
type lanePool struct {
	idle    []*conn // most recently used last
	lent    int
	waiters []*fiber // first come, first served
}

// borrow is as the dialer's.
func (l *lane) borrow(e *endpoint, deadline time.Time) (*conn, error) {
	p := l.pools[e]
	if p == nil {
		p = &lanePool{}
		l.pools[e] = p
	}
	if p.lent >= l.share {
		f := l.running
		p.waiters = append(p.waiters, f)
		switch why := f.wait(deadline); why {
		case causeReady: // whoever gave back has left its right to us
		default:
			p.leave(f)
			if why == causeTime {
				return nil, os.ErrDeadlineExceeded
			}
			return nil, errEnded
		}
	} else {
		p.lent++
	}
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if l.session.now().Sub(c.idle) < stale || !c.closedByPeer() {
			return c, nil
		}
		_ = c.Close() // the other side did so before
	}
	return nil, nil
}

func (p *lanePool) leave(f *fiber) {
	for i, w := range p.waiters {
		if w == f {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			return
		}
	}
}

// giveBack is as the dialer's.
func (l *lane) giveBack(e *endpoint, c *conn) {
	p := l.pools[e]
	if c != nil {
		p.idle = append(p.idle, c)
	}
	if len(p.waiters) == 0 {
		p.lent--
		return
	}
	next := p.waiters[0]
	p.waiters = p.waiters[1:]
	l.times.remove(next)
	l.soon = append(l.soon, next)
}

func (l *lane) close(c *conn) { _ = c.Close() } // whatever it says, the connection is gone

func (l *lane) closeIdle() {
	for _, p := range l.pools {
		for _, c := range p.idle {
			_ = c.Close() // nobody uses it any more
		}
		p.idle = nil
	}
}
