package load

import (
	"strconv"
	"time"

	"whittle"
	"whittle/load/export"
	"whittle/load/plan"
	"whittle/load/report"
)

// outcomes are requests by what became of them, for an export: those of a shard, guarded
// by its lock, of a sample, or of a run.
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

// maxOutcomes bounds the outcomes: a target may respond with any status.
const maxOutcomes = 500

// moreOutcomes is the outcome of what comes once there are so many.
var moreOutcomes = outcome{name: -1}

func newOutcomes() *outcomes { return &outcomes{by: map[outcome]*export.Requests{}} }

// of are the requests of an outcome.
func (t *outcomes) of(key outcome) *export.Requests {
	r := t.by[key]
	if r == nil && len(t.by) >= maxOutcomes {
		key = moreOutcomes
		r = t.by[key]
	}
	if r == nil {
		r = new(export.Requests)
		t.by[key] = r
	}
	return r
}

func (t *outcomes) record(o *observation) {
	if key := (outcome{o.name, o.status, o.failure}); t.recent == nil || key != t.last {
		t.last, t.recent = key, t.of(key)
	}
	t.recent.Duration.Record(o.done.Sub(o.Sent)) // whatever became of it, as the conventions say
	if o.status > 0 || o.failure == report.ErrorTimeout {
		t.recent.Latency.Record(o.done.Sub(o.intended))
	}
	t.recent.Sent += o.SentBytes
	t.recent.Received += o.ReceivedBytes
}

func (t *outcomes) merge(o *outcomes) {
	for key, r := range o.by {
		t.of(key).Merge(r)
	}
	t.late = max(t.late, o.late)
}

// requests are the outcomes by the names that the plan gives them.
func (t *outcomes) requests(p *plan.Plan) (out []export.Requests) {
	methods := methodsOf(p)
	for key, counted := range t.by {
		r := *counted
		r.Outcome = export.Outcome{Endpoint: "others", Status: key.status, Error: key.failure}
		if key.name >= 0 {
			r.Endpoint, r.Method = p.Names[key.name], methods[key.name]
		}
		out = append(out, r)
	}
	return out
}

// exported begins to count outcomes, for drainOutcomes.
func (r *recorder) exported() {
	for _, sh := range r.shards {
		sh.outcomes = newOutcomes()
	}
}

// drainOutcomes returns and resets the outcomes that all shards counted since the last
// call.
func (r *recorder) drainOutcomes() *outcomes {
	all := newOutcomes()
	for _, sh := range r.shards {
		sh.mu.Lock()
		o := sh.outcomes
		sh.outcomes = newOutcomes()
		sh.mu.Unlock()
		all.merge(o)
	}
	return all
}

// SampleOutcome are requests of a Sample that had one outcome.
type SampleOutcome struct {
	Name int `json:"name"` // of the plan's names; -1: of further ones
	export.Requests
}

func (t *outcomes) sampled() (out []SampleOutcome) {
	for key, r := range t.by {
		one := SampleOutcome{key.name, *r}
		one.Status, one.Error = key.status, key.failure
		out = append(out, one)
	}
	return out
}

// maxFailure bounds the name of an error kind.
const maxFailure = 40

// outcomes are those of the sample, of a plan with so many names.
func (s *Sample) outcomes(names int) (*outcomes, error) {
	t := newOutcomes()
	t.late = s.Late
	for i := range s.Outcomes {
		o := &s.Outcomes[i]
		if o.Name < moreOutcomes.name || o.Name >= names || min(int64(o.Status), o.Sent, o.Received) < 0 || len(o.Error) > maxFailure {
			return nil, whittle.Errorf(whittle.Invalid, "a sample has requests that the plan has not, or a count below 0")
		}
		t.of(outcome{o.Name, o.Status, printableLine(o.Error, maxFailure)}).Merge(&o.Requests)
	}
	return t, nil
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

// export begins to send a run's figures where the options say so; the function that it
// returns ends that, and says what failed.
func (r *Runner) export(collect func() *export.Snapshot) (finish func() []string) {
	if len(r.options.Exports) == 0 {
		return func() []string { return nil }
	}
	e := export.Start(r.options.Exports, map[string]string{
		"service.name": "whittle-load", "service.instance.id": strconv.FormatUint(r.options.Seed, 16),
		"whittle.plan": r.plan.Name, "whittle.target": r.target,
	}, collect)
	return e.Finish
}

// snapshots gives what the run has counted so far, each time that it is called, by one
// goroutine.
func (s *execution) snapshots() func() *export.Snapshot {
	all := newOutcomes()
	return func() *export.Snapshot {
		all.merge(s.recorder.drainOutcomes())
		return &export.Snapshot{
			Start: s.began, At: s.now(), Active: s.inFlight.Load(), Started: s.users.Load() - s.firstUser,
			Finished: s.finished.Load(), Failed: s.failed.Load(), Skipped: s.skipped.Load(),
			Requests: all.requests(s.plan), Late: all.late,
		}
	}
}

// snapshot is what the parts have done so far, for an export.
func (w *Whole) snapshot() *export.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := &export.Snapshot{
		Start: w.began, At: w.began.Add(max(time.Since(w.began), 0)), Requests: w.outcomes.requests(w.runner.plan), Late: w.outcomes.late,
	}
	for i := range w.parts {
		p := &w.parts[i]
		out.Active += p.last.InFlight
		out.Started += p.sum.Arrivals
		out.Finished += p.sum.Counts.Finished
		out.Failed += p.sum.Counts.Failed
		out.Skipped += p.sum.Counts.Skipped
	}
	return out
}
