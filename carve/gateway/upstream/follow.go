package upstream

import (
	"slices"

	"whittle/carve/gateway/resolve"
)

// found is what the last lookup of an origin's name came to.
type found struct {
	addresses []resolve.Address
	err       error // nil again after the next that succeeds
}

// follow takes in what a lookup of an origin's name has found. Addresses that are no
// longer there get no further request; a lookup that fails changes nothing.
func (u *shared) follow(at int, addresses []resolve.Address, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.closed {
		return
	}
	f, name := &u.found[at], u.origins[at].name.Host
	was := *f
	f.err = err
	switch {
	case err != nil:
		u.lookupsFailed.Add(1)
		if was.err == nil {
			u.log.Warn("a name of an upstream cannot be looked up; what was found before stays in use", "upstream", u.name(), "name", name, "addresses", len(was.addresses), "err", err)
		}
		if was.addresses != nil {
			return
		}
	case slices.Equal(was.addresses, addresses) && was.err == nil:
		return
	default:
		f.addresses = addresses
		if was.addresses != nil || was.err != nil {
			u.log.Info("the addresses of an upstream's name", "upstream", u.name(), "name", name, "addresses", addresses, "before", was.addresses)
		}
	}
	u.regroup()
}

// inherit takes over what another upstream has found for the same names.
func (u *shared) inherit(e *Upstream) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for at, o := range u.origins {
		for i, known := range e.origins {
			if o.name != nil && known.name != nil && *o.name == *known.name && e.found[i].addresses != nil {
				u.found[at].addresses = e.found[i].addresses
			}
		}
	}
}
