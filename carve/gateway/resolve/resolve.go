// Package resolve asks DNS for the addresses of a name, and reports each change of them.
// A lookup that fails, or finds no address, changes nothing.
package resolve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
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
	// Host has A and AAAA records, or SRV records where Service is set.
	Host string
	// Port goes with each address; SRV records have their own.
	Port string
	// Service says that the name is that of a service: _web._tcp.shop.example.
	Service bool
	// Server is the DNS server that is asked, host:port. Empty: the system's.
	Server string
}

// Address is one that a name has.
type Address struct {
	// To is host:port.
	To string
	// Priority and Weight are those of the SRV record: an address is for when none of a
	// lower priority is fit, and among those of one priority it gets its weight's part
	// (RFC 2782). Both are 0 without such a record.
	Priority, Weight uint16
}

// String is how the address is logged.
func (a Address) String() string {
	if a.Priority == 0 && a.Weight == 0 {
		return a.To
	}
	return fmt.Sprintf("%s (priority %d, weight %d)", a.To, a.Priority, a.Weight)
}

// errNone says that a name exists and has no address.
var errNone = errors.New("the name has no address")

// Lookup gives the addresses of a name, those of the lowest priority first. Addresses of a
// family that this machine has no way to are left out, unless all are.
func (n Name) Lookup(ctx context.Context) (addresses []Address, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if r := n.resolver(); n.Service {
		addresses, err = n.service(ctx, r)
	} else {
		addresses, err = host(ctx, r, n.Host, n.Port)
	}
	if err != nil {
		return nil, n.asked(err)
	}
	if addresses = reachable(addresses); len(addresses) == 0 {
		return nil, errNone
	}
	slices.SortFunc(addresses, func(a, b Address) int { // of one that is there twice the lower priority holds
		return cmp.Or(cmp.Compare(a.To, b.To), cmp.Compare(a.Priority, b.Priority), cmp.Compare(b.Weight, a.Weight))
	})
	addresses = slices.CompactFunc(addresses, func(a, b Address) bool { return a.To == b.To })
	slices.SortStableFunc(addresses, func(a, b Address) int { return cmp.Compare(a.Priority, b.Priority) })
	return addresses[:min(len(addresses), MaxAddresses)], nil
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

func host(ctx context.Context, r *net.Resolver, name, port string) ([]Address, error) {
	ips, err := r.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, err
	}
	var all []Address
	for _, ip := range ips {
		all = append(all, Address{To: net.JoinHostPort(ip.Unmap().String(), port)})
	}
	return all, nil
}

func (n Name) service(ctx context.Context, r *net.Resolver) ([]Address, error) {
	_, records, err := r.LookupSRV(ctx, "", "", n.Host)
	if err != nil {
		return nil, err
	}
	var all []Address
	var failed error
	for _, s := range records { // the lowest priority first
		if s.Target == "." || len(all) >= MaxAddresses {
			continue
		}
		some, err := host(ctx, r, s.Target, strconv.Itoa(int(s.Port)))
		if err != nil {
			failed = err
			continue
		}
		for _, a := range some {
			a.Priority, a.Weight = s.Priority, s.Weight
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, cmp.Or(failed, errNone)
	}
	return all, nil
}

// reachable leaves out the family that this machine has no route to, if the other
// one has: to look for a route sends nothing.
func reachable(addresses []Address) []Address {
	var some []Address
	for _, a := range addresses {
		to, err := netip.ParseAddrPort(a.To)
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
func (n Name) Follow(ctx context.Context, found func(addresses []Address, err error)) {
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
