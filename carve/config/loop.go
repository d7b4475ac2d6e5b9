package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"whittle"
)

// LeadsBack refuses upstreams that are certainly the gateway itself, which listens on these
// addresses (HOST:PORT or unix:PATH, as they were bound): every request would come back to it,
// again and again. Names are not resolved; loops through them are left to the gateway's own
// loop detection. The errors are Invalid and carry their field; nil: none leads back.
func (f *File) LeadsBack(addresses ...string) error {
	var errs []error
	f.eachLoop(addresses, func(field, why string) {
		errs = append(errs, whittle.Errorf(whittle.Invalid, "%s", why).WithField(field))
	})
	return errors.Join(errs...)
}

// checkLoops refuses what leads back to the addresses that the file itself says.
func (r *reader) checkLoops(f *File) {
	var addresses []string
	for _, l := range f.Listen {
		addresses = append(addresses, l.Address)
	}
	f.eachLoop(addresses, func(field, why string) { r.failField(field, "%s", why) })
}

// checkPorts refuses addresses of which the second could not be bound.
func (r *reader) checkPorts(f *File) {
	for i, l := range f.Listen {
		field := r.listenField(f, i)
		if f.Admin != "" && sameSocket(l.Address, f.Admin) {
			r.failField(field, "%s is a port of the admin API, which listens on %s; write another port here, or under admin", quote(l.Address), f.Admin)
		}
		for j, before := range f.Listen[:i] {
			if l.Address != before.Address && sameSocket(l.Address, before.Address) {
				r.failField(field, "%s is a part of listen[%d], %s; leave one of the two out", quote(l.Address), j, before.Address)
			}
		}
	}
}

// sameSocket reports whether two addresses of this machine certainly cannot both be bound.
func sameSocket(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	ipA, ipB := addressOf(hostA), addressOf(hostB)
	return hostA == "" || hostB == "" || hostA == hostB || ipA.IsUnspecified() && ipA.Is6() || ipB.IsUnspecified() && ipB.Is6() ||
		ipA.IsValid() && ipB.IsValid() && (ipA == ipB || ipA.Is4() == ipB.Is4() && (ipA.IsUnspecified() || ipB.IsUnspecified()))
}

// eachLoop yields the upstreams that are the gateway's users' address, or its
// admin address.
func (f *File) eachLoop(listen []string, yield func(field, why string)) {
	look := func(field string, u *whittle.Upstream) {
		for _, to := range append([]string{u.URL}, u.Others...) {
			i := slices.IndexFunc(listen, func(l string) bool { return isServer(l, to, thisMachine) })
			switch {
			case i >= 0:
				yield(field, fmt.Sprintf("%s leads back to whittle itself, which listens on %s, so each request would go round in a circle; write where the application listens, or listen on another port",
					quote(to), listen[i]))
			case f.Admin != "" && isServer(f.Admin, to, thisMachine):
				yield(field, fmt.Sprintf("%s is whittle's own admin API, on %s; write where the application listens", quote(to), f.Admin))
			}
		}
	}
	look("monolith", &f.Monolith)
	for i := range f.Routes {
		if c := f.Routes[i].Candidate; c != nil {
			look(fmt.Sprintf("routes[%d].candidate", i), c)
		}
	}
}

// machine is what a computer goes by.
type machine struct {
	addresses []netip.Addr
	name      string
}

func thisMachine() machine {
	var m machine
	m.name, _ = os.Hostname()       // without a name there is one way less to be found
	list, _ := net.InterfaceAddrs() // likewise
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			m.addresses = append(m.addresses, p.Addr().WithZone(""))
		}
	}
	return m
}

// isServer reports whether a URL certainly leads to whoever listens on an
// address of this machine. A port that the system is to choose is no port yet.
func isServer(listen, to string, of func() machine) bool {
	u, bad := url.Parse(to)
	if bad == nil && u.Scheme == "unix" {
		path, ok := strings.CutPrefix(listen, "unix:")
		return ok && absolute(path) == absolute(u.Path)
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil || bad != nil || port == "0" || strings.HasPrefix(u.Scheme, "srv+") || portOf(u) != port {
		return false
	}
	there := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	here := strings.ToLower(strings.TrimSuffix(host, "."))
	if there == here {
		return true
	}
	a, b := addressOf(here), addressOf(there)
	switch {
	case here == "" || a.IsUnspecified(): // every address, of both families
		m := of()
		return b.IsLoopback() || b.IsUnspecified() || b.IsValid() && slices.Contains(m.addresses, b) ||
			m.name != "" && there == strings.ToLower(m.name)
	case b.IsUnspecified(): // dialled, it is the loopback address
		return a.IsLoopback()
	case isLocalhost(here) || isLocalhost(there):
		return a.IsLoopback() && b.IsLoopback()
	}
	return a.IsValid() && a == b
}

// absolute is a socket's path from the root, as written where there is no working folder.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
