package fetch

import (
	"net/netip"
	"slices"
)

// closed are the ranges of IPv4 that are not for untrusted URLs, by IANA's registry
// of special-purpose addresses, and one of a cloud's metadata.
var closed = prefixes(
	"0.0.0.0/8",        // this network
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // carrier-grade NAT; a cloud's metadata is at 100.100.100.200
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // a cloud's metadata, at an address that looks public
	"169.254.0.0/16",   // link-local, with most clouds' metadata
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // 6to4's relays, as they were
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, and broadcast
)

// globalV6 is all of IPv6 that is routed to anyone. Outside of it are loopback,
// link-local, unique local and multicast addresses, those that carry an IPv4
// address (::/96, 64:ff9b::/96, 64:ff9b:1::/48), and what is not yet given out.
var globalV6 = netip.MustParsePrefix("2000::/3")

// closedV6 are the ranges within globalV6 that are not for untrusted URLs.
var closedV6 = prefixes(
	"2001::/23",     // protocol assignments, with Teredo, which carries an IPv4 address
	"2001:db8::/32", // documentation
	"2002::/16",     // 6to4, which carries an IPv4 address
	"3fff::/20",     // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		all[i] = netip.MustParsePrefix(t)
	}
	return all
}

// open reports whether pictures may be fetched from an address:
// whether anyone on the Internet could reach it, or it lies in one of the
// ranges that are allowed in addition. An IPv4 address in IPv6's clothes is treated
// as what it is.
func open(a netip.Addr, allowed []netip.Prefix) bool {
	if !a.IsValid() || a.Zone() != "" {
		return false
	}
	a = a.Unmap()
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case slices.ContainsFunc(allowed, within):
		return true
	case a.Is4():
		return !slices.ContainsFunc(closed, within)
	}
	return globalV6.Contains(a) && !slices.ContainsFunc(closedV6, within)
}
