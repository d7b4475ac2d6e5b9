package config

import (
	"fmt"
	"slices"

	"whittle"
)

// refusedKeys are keys that cannot hold, with the reason.
type refusedKeys struct {
	why  string
	keys []string
}

// sinkKeys do not hold where a mirror alone feeds whittle.
var sinkKeys = []refusedKeys{
	{"whittle never sees what users got, so there is no harm budget to keep", []string{"rollout.harm"}},
	{"whittle sends no user to the candidate, so there is no exposure to bound", []string{"guard.exposure"}},
	{"no user's request is whittle's to take back, so there is no breaker and no fallback", []string{"guard.consecutive"}},
	{"the proxy alone keeps users on a side", []string{"rollout.sticky_by", "group"}},
	{"whittle sends no user to the candidate, so the share stays 0", []string{
		"rollout.auto", "rollout.steps", "rollout.hold", "rollout.soak", "rollout.min_requests", "rollout.unseen", "rollout.retry",
		"rollout.gates", "rollout.preview", "mirror.watch",
	}},
	{"guards watch what users got, which whittle never sees", []string{"guard.errors", "guard.p99", "guard.mismatch", "guard.confidence", "guard.query"}},
	{"the monolith is asked as well, and would carry out the write a second time", []string{"dry_run"}},
}

// observerKeys do not hold where Envoy alone serves users, and whittle looks on.
var observerKeys = []refusedKeys{
	{"Envoy bounds no exposure: it is about guard.consecutive and what is in flight", []string{"guard.exposure"}},
	{"Envoy draws its users, for each route apart", []string{"group"}},
	{"no user's request is whittle's to send anywhere", []string{"rollout.unseen", "rollout.preview"}},
}

// heldBySteering are those of sinkKeys that hold where whittle tells the proxy the share, or that
// checkSteer has refused already.
var heldBySteering = []string{
	"rollout.auto", "rollout.steps", "rollout.hold", "rollout.soak", "rollout.retry", "rollout.gates", "guard.confidence", "guard.query",
	"group", "rollout.harm", "rollout.min_requests", "rollout.unseen", "rollout.preview", "guard.exposure", "guard.consecutive",
}

// sinks reports whether all that arrives is a mirror's.
func (f *File) sinks() bool {
	return !slices.ContainsFunc(f.Listen, func(l Listener) bool { return !l.Sink })
}

// observes reports whether all that arrives is what an Envoy says of users' requests.
func (f *File) observes() bool {
	return !slices.ContainsFunc(f.Listen, func(l Listener) bool { return l.Candidates == nil })
}

// checkBeside refuses what does not hold where no user's request passes whittle.
func (r *reader) checkBeside(f *File) {
	none, at := sinkKeys, "at a sink"
	if f.observes() {
		none, at = observerKeys, "at an observer"
	} else if !f.sinks() {
		return
	}
	refuse := func(field, why string) {
		_, given := r.where[field]
		r.failIf(given, field, "does not hold %s: %s; leave it out", at, why)
	}
	refuse("record", "no user's request passes whittle, so none is recorded")
	for i := range f.Routes {
		t, field := &f.Routes[i], fmt.Sprintf("routes[%d].", i)
		if t.Candidate == nil {
			continue
		}
		for _, n := range none {
			for _, key := range n.keys {
				if t.Steer != nil && slices.Contains(heldBySteering, key) {
					continue
				}
				refuse(field+key, n.why)
			}
		}
		p := &t.Rollout
		p.Observed = f.observes()
		switch {
		case t.Steer != nil:
			continue
		case p.Observed:
			if _, given := r.where[field+"rollout.auto"]; given && p.Auto {
				refuse(field+"rollout.auto", "nobody tells Envoy the share but you, and whittle promote tells whittle")
			}
			p.Auto, p.Unseen = false, whittle.UnseenShift
			continue
		}
		p.Sink, p.Auto, p.Harm = true, false, 0
	}
}
