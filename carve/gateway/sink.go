package gateway

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"

	"whittle"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/mirror"
)

// sink takes a request of a proxy's mirror. The mirror gets 204 once the request is read,
// whatever becomes of it, and waits for neither side. A body that is not kept is read all the
// same, so that the mirror keeps its connection.
func (g *Gateway) sink(w http.ResponseWriter, c *tracked) forward.Result {
	u := user{w: w, r: c.request}
	defer u.end()
	unmark(u.r.Request)
	if rt := c.entry.route; rt != nil {
		rt.takeMirrored(&u)
	}
	if u.r.Length != 0 && !u.r.Whole {
		rest := inbound.NewBody(w, &u.r, g.opts.Limits.BodyBytes, g.opts.Limits.StallTimeout, nil)
		defer rest.Detach()
		_, _ = io.Copy(io.Discard, rest) // what breaks off ends the connection, and nothing else
	}
	w.WriteHeader(http.StatusNoContent)
	return forward.Result{Sent: http.StatusNoContent, Wrote: true}
}

// unmark takes off a request what mirrors add to it: Envoy and Istio append -shadow to the
// host's name, or behind its port, and say in fields of their own how they route.
func unmark(r *http.Request) {
	const mark = "-shadow"
	if host, port, found := strings.Cut(r.Host, mark+":"); found {
		r.Host = host + ":" + port
	}
	r.Host = strings.TrimSuffix(r.Host, mark)
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Envoy-") {
			delete(r.Header, name)
		}
	}
}

// takeMirrored queues a mirror's request, for which whittle asks both sides, or settles it
// with the reason why not.
func (rt *route) takeMirrored(u *user) {
	if rt.dryRunHeader != "" {
		delete(u.r.Header, rt.dryRunHeader) // as in serve
	}
	v := newUserRequest(rt, &u.r)
	v.unserved, v.served, v.chance = true, whittle.Side(rand.N(2)), 0.5
	v.facts.ConnNumber = 0 // the proxy's: it carries all users' requests
	rt.ledgerCounts.open(&v.ledgerEntry)
	defer v.finish()
	p := rt.plan(v, &u.r, rt.inForce(), position(rand.Uint64()))
	if p.skip == "" && (!rt.safe(v.method) || mirror.OneTime(u.r.URL.RawQuery)) {
		p.skip = whittle.SkipNotSafe // the monolith has it already, from the proxy
	}
	if p == (plan{}) && !rt.buffer(v, u, &p) && p == (plan{}) {
		p.skip = whittle.SkipCanceled // its body broke off
	}
	switch {
	case p.skip != "":
		v.skip(p.skip)
	case p.shed:
		v.shed()
	default:
		rt.submit(v)
	}
}
