package gateway

import (
	"time"

	"whittle"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/preview"
)

// takePreview removes a preview token from the header of a request on a route with previews,
// and reports whether it was a valid one, so that the candidate is to serve the request.
func (rt *route) takePreview(r *inbound.Request) bool {
	found, ok := rt.preview.Take(r.Header, time.Now)
	switch {
	case !found:
		return false
	case !ok:
		rt.counts.unsigned.Add(1)
		return false
	case r.Streams || !rt.previews():
		rt.counts.withheld.Add(1)
		return false
	}
	return true
}

// previews reports whether the candidate may have testers' requests now.
func (rt *route) previews() bool {
	set := rt.setting.Load()
	switch {
	case set.phase == whittle.PhaseOff:
		return false
	case set.tripped, set.phase == whittle.PhaseRolledBack:
		return rt.spec.Rollout.Preview.AfterRollback
	}
	return true
}

// byPreview has the candidate serve a tester, who gets what it responds and no fallback.
// Nothing of it is evidence, exposure or a copy; the ledger counts it apart. False:
// nothing has been written, and the request goes on as if it had no token.
func (rt *route) byPreview(v *userRequest, u *user) (forward.Result, bool) {
	under := u.w // the closure holds no u, which would put every request's on the heap
	w := &forward.Observer{ResponseWriter: under, Head: func(int) { preview.Mark(under.Header()) }}
	var res forward.Result
	if rt.rpc == nil {
		res = rt.env.g.forwarder.Forward(w, u.r, rt.env.candidate, forward.Options{Side: whittle.Candidate})
	} else {
		out, ok := rt.previewCall(v, u)
		if !ok {
			rt.counts.withheld.Add(1)
			return forward.Result{}, false
		}
		res = rt.callPreviewed(v, user{w: w, r: u.r}, out)
	}
	rt.counts.previewed.Add(1)
	v.skip(whittle.SkipPreview)
	return res, true
}

// previewCall is the call that a tester's request means. False: it has no meaning in the
// contract, or there is no room for it.
func (rt *route) previewCall(v *userRequest, u *user) (*whittle.Request, bool) {
	var p plan
	if !rt.buffer(v, u, &p) {
		return nil, false
	}
	out, err := rt.translated(v)
	return out, err == nil && v.reserve(rt.mostResponse(rt.env.candidate))
}

// callPreviewed makes a call without a permit, so the breaker is told nothing.
func (rt *route) callPreviewed(v *userRequest, u user, out *whittle.Request) forward.Result {
	c := candidateCall{rt: rt, v: v, user: u}
	c.judged.Store(true) // nothing is
	c.begin()
	defer c.end()
	c.call(out)
	c.judge()
	if !c.res.Wrote && !c.res.Abort {
		c.refuse()
	}
	return c.res
}
