package load

import (
	"strconv"
	"time"

	"whittle/load/export"
	"whittle/load/plan"
	"whittle/load/report"
)

// outcomes are a shard's requests by what became of them, for an export. It is guarded
// by the shard's lock.
type outcomes struct {
	by map[outcome]*export.Requests
	// last is the one that was counted last, of which most are in a row.
	last   outcome
	recent *export.Requests
	late   time.Duration // the greatest lateness of a start
}

// outcome is what requests that are counted together have in common.
type outcome struct {
	name, status int
	failure      string
}

// maxOutcomes bounds the outcomes of a shard: a target may respond with any status.
const maxOutcomes = 500

// moreOutcomes is the outcome of what comes once there are so many.
var moreOutcomes = outcome{name: -1}

func newOutcomes() *outcomes { return &outcomes{by: map[outcome]*export.Requests{}} }

func (t *outcomes) record(o *observation) {
	key := outcome{o.name, o.status, o.failure}
	if t.recent == nil || key != t.last {
		r := t.by[key]
		if r == nil {
			if len(t.by) >= maxOutcomes {
				key = moreOutcomes
			}
			if r = t.by[key]; r == nil {
				r = new(export.Requests)
				t.by[key] = r
			}
		}
		t.last, t.recent = key, r
	}
	t.recent.Duration.Record(o.done.Sub(o.Sent)) // whatever became of it, as the conventions say
	if o.status > 0 || o.failure == report.ErrorTimeout {
		t.recent.Latency.Record(o.done.Sub(o.intended))
	}
	t.recent.Sent += o.SentBytes
	t.recent.Received += o.ReceivedBytes
}

// snapshot is what the run has counted so far, for an export.
func (s *execution) snapshot() *export.Snapshot {
	out := &export.Snapshot{
		Start: s.began, At: s.now(), Active: s.inFlight.Load(), Started: s.users.Load() - s.firstUser,
		Finished: s.finished.Load(), Failed: s.failed.Load(), Skipped: s.skipped.Load(),
	}
	all := map[outcome]*export.Requests{}
	for _, sh := range s.recorder.shards {
		sh.mu.Lock()
		for key, r := range sh.outcomes.by {
			if all[key] == nil {
				all[key] = new(export.Requests)
			}
			all[key].Merge(r)
		}
		out.Late = max(out.Late, sh.outcomes.late)
		sh.mu.Unlock()
	}
	methods := methodsOf(s.plan)
	for key, r := range all {
		r.Outcome = export.Outcome{Endpoint: "others", Status: key.status, Error: key.failure}
		if key.name >= 0 {
			r.Endpoint, r.Method = s.plan.Names[key.name], methods[key.name]
		}
		out.Requests = append(out.Requests, *r)
	}
	return out
}

// methodsOf are the methods of the plan's requests by their names' indices; empty where
// requests of several methods have one name.
func methodsOf(p *plan.Plan) []string {
	out := make([]string, len(p.Names))
	seen := make([]bool, len(p.Names))
	for _, r := range p.Requests() {
		switch {
		case !seen[r.Index]:
			out[r.Index], seen[r.Index] = r.Method, true
		case out[r.Index] != r.Method:
			out[r.Index] = ""
		}
	}
	return out
}

// export begins to send the run's figures where the options say so; the function that it
// returns ends that, and says what failed.
func (r *Runner) export(s *execution) (finish func() []string) {
	if len(r.options.Exports) == 0 {
		return func() []string { return nil }
	}
	for _, sh := range s.recorder.shards {
		sh.outcomes = newOutcomes()
	}
	e := export.Start(r.options.Exports, map[string]string{
		"service.name": "whittle-load", "service.instance.id": strconv.FormatUint(r.options.Seed, 16),
		"whittle.plan": r.plan.Name, "whittle.target": r.target,
	}, s.snapshot)
	return e.Finish
}
