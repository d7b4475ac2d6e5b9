package load

import (
	"context"
	"maps"
	"slices"
	"time"

	"whittle"
	"whittle/internal/latency"
	"whittle/load/cpu"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// PartStart is how a part of a run is begun.
type PartStart struct {
	// Start is when the run begins, the same moment for all parts.
	Start time.Time
	// Base are the variables that the flow before the run left; nil: there was none.
	Base []expr.Value
	// GivesUp is how late a user may be due for the run to go on: a process that was
	// stopped does not make up for what it missed. 0: it always goes on.
	GivesUp time.Duration
	// OnSample is called about once a second, and at the end, from one goroutine.
	OnSample func(*Sample)
}

// Sample is what a part of a run did in a span of it. Durations are in nanoseconds.
type Sample struct {
	At time.Duration `json:"at"` // since the start of the run
	window
	Latency *latency.Histogram `json:"latency"`
}

// window is what was counted in a span of a run; its latencies are apart.
type window struct {
	Span       time.Duration `json:"span"` // the time that was observed
	Arrivals   int64         `json:"arrivals"`
	Completed  int64         `json:"completed"`
	Failed     int64         `json:"failed"`
	InFlight   int64         `json:"in_flight"` // the greatest number
	Late       time.Duration `json:"late"`      // the greatest lateness of a start
	CPU        time.Duration `json:"cpu"`       // of the generator
	Skipped    int64         `json:"skipped"`
	watchedCPU time.Duration
	cores      []cpu.Core
}

// check refuses what no part of a run can have done.
func (s *Sample) check() error {
	least := min(s.Span, s.Late, s.CPU)
	switch {
	case s.Latency == nil || s.At < 0 || s.At > plan.MaxDuration+time.Hour || least < 0:
		return whittle.Errorf(whittle.Invalid, "a sample has no latencies, or a time below 0")
	case min(s.Arrivals, s.Completed, s.Failed, s.InFlight, s.Skipped) < 0:
		return whittle.Errorf(whittle.Invalid, "a sample has a count below 0")
	}
	return nil
}

// maxKinds bounds the kinds of errors of a part, and the statuses.
const maxKinds = 1000

func checkCounts(codes map[int]int64, errors map[string]int64) error {
	if len(codes) > maxKinds || len(errors) > maxKinds {
		return whittle.Errorf(whittle.Invalid, "there are more than %d statuses, or kinds of errors", maxKinds)
	}
	for _, n := range slices.AppendSeq(slices.Collect(maps.Values(codes)), maps.Values(errors)) {
		if n < 0 {
			return whittle.Errorf(whittle.Invalid, "a count is below 0")
		}
	}
	return nil
}

// PartResult is the result of a part of a run: all that its report is made of.
type PartResult struct {
	tally
	Users   report.Users  `json:"users"`
	Elapsed time.Duration `json:"elapsed"`
	Early   bool          `json:"early"` // the part ended before its plan
	CPU     time.Duration `json:"cpu"`
	// Void is why the part's figures may not be used. Empty: they may.
	Void     string   `json:"void"`
	Warnings []string `json:"warnings"` // of the part's generator
	// ScriptFailures are the scripts that failed.
	ScriptFailures []report.ScriptFailure `json:"script_failures,omitempty"`
}

// checked is what the part has counted, of a plan with so many names and groups. What no
// part can have counted is refused.
func (p *PartResult) checked(names, groups int) (*tally, error) {
	t := &p.tally
	if len(t.Names) != names || len(t.Paces) > groups {
		return nil, whittle.Errorf(whittle.Invalid, "it is a result of another plan")
	}
	if err := checkCounts(t.Codes, t.Errors); err != nil {
		return nil, err
	}
	all := t.histograms()
	for i, g := range t.Paces {
		if i < 1 || i > groups || g == nil {
			return nil, whittle.Errorf(whittle.Invalid, "it has users of a group that the plan has not")
		}
		all = append(all, g.Actual, g.Gap)
	}
	least := min(t.Unfinished, p.Users.Started, p.Users.Skipped, p.Users.Finished, p.Users.Failed, int64(p.Elapsed), int64(p.CPU))
	for _, n := range t.Names {
		least = min(least, n.Requests, n.Completed, n.Failed, n.Sent, n.Received)
	}
	if slices.Contains(all, nil) || least < 0 {
		return nil, whittle.Errorf(whittle.Invalid, "it has no latencies, or a count below 0")
	}
	samples := t.Samples
	t.Samples = map[string]string{}
	for kind, text := range samples {
		if len(t.Samples) < maxKinds {
			t.Samples[kind] = printableLine(text, maxSample)
		}
	}
	return t, nil
}

// printableFailures are the failures of scripts as they may be shown.
func (p *PartResult) printableFailures() (out []report.ScriptFailure) {
	for _, f := range p.ScriptFailures {
		f.Element, f.File, f.Sample = printableLine(f.Element, maxReason), printableLine(f.File, maxReason), printableLine(f.Sample, maxSample)
		f.Line, f.Count = max(f.Line, 0), max(f.Count, 0)
		out = report.AddScriptFailure(out, f)
	}
	return out
}

// RunPart runs Options.Part of the plan. The flows before and after the run, and what is
// watched, are those of the whole. An error means that nothing was measured.
func (r *Runner) RunPart(ctx context.Context, p PartStart) (*PartResult, error) {
	n, err := r.network()
	if err != nil {
		return nil, err
	}
	defer n.CloseIdle()
	defer r.rest()
	t := r.task(n)
	t.base, t.givesUp = p.Base, p.GivesUp
	s, err := newExecution(t)
	if err != nil {
		return nil, err
	}
	defer s.close()
	s.began = p.Start
	s.onSample = p.OnSample
	if !s.sleepUntil(ctx, 0) {
		return nil, whittle.Errorf(whittle.Unavailable, "the run was ended before it began")
	}
	late := s.now().Sub(p.Start)
	w := newMonitor(s, new(meter))
	w.start(ctx)
	early := !s.send(ctx)
	w.finish()
	whole := w.report(r.target, early || s.end.early.Load())
	out := &PartResult{tally: *s.recorder.total()}
	out.Users, out.Elapsed, out.Early, out.CPU = whole.Users, w.sampledAt, whole.Early, time.Duration(whole.Generator.CPU*1e6)
	out.Void, out.Warnings = whole.Void, whole.GeneratorWarnings()
	out.ScriptFailures = whole.ScriptFailures
	switch {
	case s.gaveUp.Load():
		out.Void = "it stood still for more than " + p.GivesUp.String() + ", and went no further"
	case out.Void == "" && late > r.options.MaxLate:
		out.Void = "it began " + late.Round(time.Microsecond).String() + " after the others"
	default:
	}
	return out, nil
}
