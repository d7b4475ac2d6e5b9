// Package resolve asks DNS for the addresses of a name, and reports each change of them.
// A lookup that fails, or finds no address, changes nothing.
package resolve

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"whittle/internal/notify"
)

const (
	// MaxAddresses bounds the addresses that are taken of a name.
	MaxAddresses = 256
	// lookupTimeout bounds one lookup, with all its queries.
	lookupTimeout = 10 * time.Second
	// lookEvery is how often a name is asked for again, whatever its records' time to live:
	// addresses change when a deployment does.
	lookEvery = 2 * time.Second
	// After a lookup that failed the next comes so soon, and each further one after
	// twice the time, up to mostWait.
	firstWait, mostWait = time.Second, 30 * time.Second
)

// Name is what is looked up.
type Name struct {
	// Host has A and AAAA records, Port goes with each address.
	Host, Port string
	// Server is the DNS server that is asked, host:port. Empty: the system's.
	Server string
}

// errNone says that a name exists and has no address.
var errNone = errors.New("the name has no address")

// Lookup gives the addresses of a name, each host:port. Addresses of a family that this machine
// has no way to are left out, unless all are.
func (n Name) Lookup(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	ips, err := n.resolver().LookupNetIP(ctx, "ip", n.Host)
	if err != nil {
		return nil, n.asked(err)
	}
	var all []string
	for _, ip := range ips {
		all = append(all, net.JoinHostPort(ip.Unmap().String(), n.Port))
	}
	if all = reachable(all); len(all) == 0 {
		return nil, errNone
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), MaxAddresses)], nil
}

// asked names in an error the server that was asked, in the place of the system's.
func (n Name) asked(err error) error {
	if e, ok := errors.AsType[*net.DNSError](err); ok && n.Server != "" {
		named := *e
		named.Server = n.Server
		return &named
	}
	return err
}

// resolver asks n's server, or the system's.
func (n Name) resolver() *net.Resolver {
	if n.Server == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, n.Server)
	}}
}

// reachable leaves out the family that this machine has no route to, if the other
// one has: to look for a route sends nothing.
func reachable(addresses []string) []string {
	var some []string
	for _, a := range addresses {
		to, err := netip.ParseAddrPort(a)
		if err != nil {
			continue
		}
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		if err != nil {
			continue
		}
		_ = c.Close()
		some = append(some, a)
	}
	if len(some) == 0 {
		return addresses
	}
	return some
}

// Follow looks a name up again and again until ctx ends, and calls found after each lookup. On
// an error, what was found before holds on.
func (n Name) Follow(ctx context.Context, found func(addresses []string, err error)) {
	wait := firstWait
	for {
		addresses, err := n.Lookup(ctx)
		if ctx.Err() != nil {
			return
		}
		found(addresses, err)
		pause := lookEvery
		if err != nil {
			pause, wait = wait, min(2*wait, mostWait)
		} else {
			wait = firstWait
		}
		if !notify.Sleep(ctx, pause) {
			return
		}
	}
}
