package gateway

import (
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"whittle"
	"whittle/carve/gateway/forward"
	"whittle/carve/gateway/inbound"
	"whittle/carve/gateway/quota"
)

// quotas are what is in force of Clients. A zero bound is none.
type quotas struct {
	whittle.Clients
	rate *rate // nil: none
	// inBytes says that no request on a connection of its own can be above Requests,
	// since its client has no more connections.
	inBytes bool
}

// rate is a rate that is being counted.
type rate struct {
	spec  whittle.Rate
	quota *quota.Rate
	// above counts the requests that were above it.
	above atomic.Int64
}

// rateOf makes a rate, or keeps an earlier one that is the same.
func rateOf(spec whittle.Rate, earlier *rate) *rate {
	switch {
	case spec.PerSecond <= 0:
		return nil
	case earlier != nil && earlier.spec == spec:
		return earlier
	}
	return &rate{spec: spec, quota: quota.NewRate(spec.PerSecond, max(spec.Burst, 1))}
}

// Limit puts other bounds on clients in force.
func (g *Gateway) Limit(c whittle.Clients) {
	c.By.Name = canonicalName(c.By)
	next := &quotas{Clients: c, inBytes: c.Requests <= 0 || c.By.Name == "" && c.Connections > 0 && c.Connections <= c.Requests}
	var earlier *rate
	if old := g.quotas.Load(); old != nil {
		earlier = old.rate
	}
	next.rate = rateOf(c.Rate, earlier)
	g.quotas.Store(next)
	g.clients.PerClient(c.Connections)
}

// admission is what a request was counted as.
type admission struct {
	client  quota.Key
	counted bool
	// late is why the request is refused; "": it is not. After wait it may come again.
	// above counts it when it is.
	late  string
	wait  time.Duration
	above *atomic.Int64
}

// Reasons for which a request of a client's is refused.
const (
	lateRequests = "requests"
	lateRate     = "rate"
)

// admit counts a request against its client's bounds. The caller leaves.
func (g *Gateway) admit(e *entry, r *inbound.Request) admission {
	q := g.quotas.Load()
	if q.rate == nil && e.rate == nil && (q.Requests <= 0 || q.inBytes && r.ProtoMajor == 1 && !r.Trusted) {
		return admission{}
	}
	return g.count(q, e, q.clientOf(r))
}

func (g *Gateway) count(q *quotas, e *entry, client quota.Key) (a admission) {
	a.client = client
	if q.Requests > 0 && !g.underWay.Enter(a.client, q.Requests) {
		a.late, a.wait, a.above = lateRequests, time.Second, &g.counts.crowded
		return a
	}
	a.counted = q.Requests > 0
	now := time.Now()
	var taken *rate
	for _, r := range [...]*rate{q.rate, e.rate} {
		if r == nil || r.spec.DryRun {
			continue
		}
		wait, ok := r.quota.Take(client, now)
		if !ok {
			a.late, a.wait, a.above = lateRate, wait, &r.above
			if taken != nil {
				taken.quota.Give(client) // a request that is refused takes nothing
			}
			return a
		}
		taken = r
	}
	for _, r := range [...]*rate{q.rate, e.rate} {
		if r == nil || !r.spec.DryRun {
			continue
		}
		if _, ok := r.quota.Take(client, now); !ok {
			r.above.Add(1)
		}
	}
	return a
}

// admitRaw is admit for a request in bytes, whose peer is its client.
func (g *Gateway) admitRaw(e *entry, peer string) (a admission) {
	q := g.quotas.Load()
	switch {
	case q.inBytes && q.rate == nil && e.rate == nil:
		return a
	case q.By.Name != "":
		return admission{late: "not known in bytes"}
	}
	return g.count(q, e, quota.OfAddress(peer))
}

func (g *Gateway) leave(a *admission) {
	if a.counted {
		g.underWay.Leave(a.client)
	}
}

// clientOf is the key of a request's client.
func (q *quotas) clientOf(r *inbound.Request) quota.Key {
	if name := keyOf(r.Header, q.By); name != "" {
		return quota.OfName(name)
	}
	return quota.OfAddress(r.Client())
}

// tooMany refuses a request that is above its client's bounds.
func (g *Gateway) tooMany(w http.ResponseWriter, c *tracked, a *admission) forward.Result {
	a.above.Add(1)
	if more, due := g.failureLog.due(failureKey{route: c.entry.name, failure: whittle.Failure(a.late)}, time.Now()); due {
		g.log.Warn("a client is above its limit", "limit", a.late, "route", c.entry.name, "client", c.request.Client(), "more_since_the_last_line", more)
	}
	extra := http.Header{"Retry-After": {strconv.FormatInt(int64((a.wait+time.Second-1)/time.Second), 10)}}
	if c.request.Length != 0 {
		maps.Copy(extra, lastOf(&c.request))
	}
	forward.WriteError(w, extra, http.StatusTooManyRequests)
	return forward.Result{Sent: http.StatusTooManyRequests, Wrote: true, Failure: whittle.FailedCanceled, Detail: "above the client's limit: " + a.late}
}
