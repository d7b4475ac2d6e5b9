package upstream

import (
	"testing"
	"time"

	"whittle"
	"whittle/carve/gateway/resolve/dnstest"
	"whittle/e2e/process"
)

const (
	soon = 10 * time.Millisecond
	hour = time.Hour
)

// TestServicesByPriorityAndWeight: of the instances of SRV records those of the lowest
// priority get requests by their weights, and others none as long as any of these is
// fit, or can be reached.
func TestServicesByPriorityAndWeight(t *testing.T) {
	t.Parallel() // it waits for times to live
	dns := dnstest.New(t)
	dns.Set("host.example", 3600, "127.0.0.1")
	heavy, light, rare, backup, last := serve(t, "heavy"), serve(t, "light"), serve(t, "rare"), serve(t, "backup"), serve(t, "last")
	record := func(s *named, priority, weight uint16) dnstest.Service {
		return dnstest.Service{Priority: priority, Weight: weight, Port: s.port(t), Target: "host.example"}
	}
	all := []dnstest.Service{record(heavy, 10, 3), record(light, 10, 1), record(rare, 10, 0), record(backup, 20, 1), record(last, 30, 1)}
	dns.SetServices("_app._tcp.example", 0, all...)
	u := upstreamOf(t, whittle.Upstream{
		URL: "srv+http://_app._tcp.example", Resolver: dns.Address,
		Ejection: whittle.Ejection{Consecutive: 1, Base: hour, Most: hour, Share: whittle.Percent(100)},
	})
	// Three of four go to the first: 900 give or take 15, of which these are 10. The
	// third gets one of 401: more than 30 are seen once in 10^17 tests.
	if got := responders(t, u, 1200); got["heavy"] < 750 || got["heavy"] > 1050 || got["light"] < 150 || got["rare"] > 30 || got["backup"]+got["last"] > 0 {
		t.Errorf("by weight: %v", got)
	}
	dns.SetServices("_app._tcp.example", 0, record(heavy, 10, 1), record(light, 10, 3), all[3])
	process.Until(t, "the weights change", func() bool {
		got := responders(t, u, 100)
		return got["light"] > got["heavy"] && got["rare"] == 0
	})
	light.Close()
	if got := responders(t, u, 100); got["heavy"] != 100 {
		t.Errorf("one of two cannot be reached: %v", got)
	}
	heavy.Close()
	if got := responders(t, u, 100); got["backup"] != 100 {
		t.Errorf("none of the first priority can be reached: %v", got)
	}
}

// TestPrioritiesByHealth: a priority that too few instances are fit at passes its
// requests on to the next, and has them back.
func TestPrioritiesByHealth(t *testing.T) {
	t.Parallel() // it waits for checks
	dns := dnstest.New(t)
	dns.Set("host.example", 3600, "127.0.0.1")
	a, b, backup := serve(t, "a"), serve(t, "b"), serve(t, "backup")
	record := func(s *named, priority uint16) dnstest.Service {
		return dnstest.Service{Priority: priority, Port: s.port(t), Target: "host.example"}
	}
	dns.SetServices("_app._tcp.example", 3600, record(a, 1), record(b, 1), record(backup, 2))
	u := upstreamOf(t, whittle.Upstream{
		URL: "srv+http://_app._tcp.example", Resolver: dns.Address, Panic: whittle.Percent(80),
		Health: whittle.Health{Path: "/healthz", Interval: soon, Timeout: hour, Healthy: 1, Unhealthy: 1, Least: 200, Most: 399},
	})
	among := func(want ...string) func() bool {
		return func() bool {
			got := responders(t, u, 40)
			for _, name := range want {
				if got[name] == 0 {
					return false
				}
			}
			return len(got) == len(want)
		}
	}
	process.Until(t, "both of the first priority", among("a", "b"))
	a.health.Store(503)
	process.Until(t, "half of the first priority is too few", among("backup"))
	backup.health.Store(503)
	process.Until(t, "too few at each: all of them", among("a", "b", "backup"))
	a.health.Store(200)
	process.Until(t, "the first priority again", among("a", "b"))
}
