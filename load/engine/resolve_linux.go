package engine

import (
	"context"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Dial opens a connection to host:port before the deadline, to the first of the name's
// addresses that accepts it. It is called by a fiber.
func (l *Loop) Dial(ctx context.Context, address string, deadline time.Time) (*Socket, error) {
	to, err := l.resolve(ctx, address, deadline)
	if err != nil {
		return nil, err
	}
	var first error
	for i, a := range to {
		// An address that does not respond leaves time for the others.
		left := deadline.Sub(l.now()) / time.Duration(len(to)-i)
		k, err := l.connect(a, deadline.Add(left-deadline.Sub(l.now())))
		if err == nil {
			return k, nil
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

// resolve returns the addresses of host:port, at least one. While one fiber
// looks a name up again, the others use the cached addresses.
func (l *Loop) resolve(ctx context.Context, address string, deadline time.Time) ([]netip.AddrPort, error) {
	r := l.addresses[address]
	if r == nil {
		r = &resolvedName{}
		l.addresses[address] = r
		if a, err := netip.ParseAddrPort(address); err == nil {
			r.addresses = []netip.AddrPort{a}
		}
	}
	literal := r.addresses != nil && r.at.IsZero()
	if literal || r.addresses != nil && (r.refreshing || l.now().Sub(r.at) < resolveTTL) {
		return r.addresses, nil
	}
	var to []netip.AddrPort
	var err error
	r.refreshing = true
	l.running.RunBlocking(func() { to, err = lookUp(ctx, address, deadline.Sub(l.now())) })
	r.refreshing = false
	if err != nil {
		return nil, err
	}
	r.addresses, r.at = to, l.now()
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
