package load

import (
	"context"
	"maps"
	"slices"
	"time"

	"whittle"
	"whittle/internal/latency"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/load/report"
)

// PartRun is how a part of a run is begun.
type PartRun struct {
	// Start is when the run begins, the same moment for all parts.
	Start time.Time
	// Base are the variables that the flow before the run left; nil: there was none.
	Base []expr.Value
	// GivesUp is how late a user may be due for the run to go on: a process that was
	// stopped does not make up for what it missed. 0: it always goes on.
	GivesUp time.Duration
	// Exported says that samples have their requests by outcome, for an export of the whole.
	Exported bool
	// OnSample is called about once a second, and at the end, from one goroutine.
	OnSample func(*Sample)
}

// Sample is what a part of a run did in a span of it. Durations are in nanoseconds.
type Sample struct {
	At        time.Duration      `json:"at"` // since the start of the run
	Span      time.Duration      `json:"span"`
	Arrivals  int64              `json:"arrivals"`
	Completed int64              `json:"completed"`
	Failed    int64              `json:"failed"`
	InFlight  int64              `json:"in_flight"`
	Late      time.Duration      `json:"late"`
	CPU       time.Duration      `json:"cpu"`
	Latency   *latency.Histogram `json:"latency"`
	Counts    Counts             `json:"counts"`
	// Outcomes are the requests by what became of them, where the whole is exported.
	Outcomes []SampleOutcome `json:"outcomes,omitempty"`
}

// Counts are the numbers of a Sample that reports have by name.
type Counts struct {
	Requests int64            `json:"requests"`
	Sent     int64            `json:"sent"`
	Received int64            `json:"received"`
	Finished int64            `json:"finished"`
	Failed   int64            `json:"failed"`
	Skipped  int64            `json:"skipped"`
	Codes    map[int]int64    `json:"codes,omitempty"`
	Errors   map[string]int64 `json:"errors,omitempty"`
}

func newSample(at time.Duration, p *delta, c *windowCounts) *Sample {
	l := &c.counts
	return &Sample{
		At: at, Span: c.span, Arrivals: p.arrivals, Completed: p.completed, Failed: p.failed, InFlight: c.inFlight, Late: c.lateness,
		CPU: c.generatorCPU, Latency: &p.latency,
		Counts: Counts{
			Requests: l.requests, Sent: l.sent, Received: l.received, Finished: l.finished, Failed: l.failed, Skipped: l.skipped,
			Codes: l.codes, Errors: l.errors,
		},
	}
}

// window is the sample without its latencies.
func (s *Sample) window() *windowCounts {
	l := &s.Counts
	return &windowCounts{
		span: s.Span, arrivals: s.Arrivals, completed: s.Completed, failed: s.Failed, inFlight: s.InFlight, lateness: s.Late, generatorCPU: s.CPU,
		counts: runCounts{
			requests: l.Requests, sent: l.Sent, received: l.Received, finished: l.Finished, failed: l.Failed, skipped: l.Skipped,
			codes: l.Codes, errors: l.Errors,
		},
	}
}

// check refuses what no part of a run can have done.
func (s *Sample) check() error {
	l := &s.Counts
	least := min(s.Span, s.Late, s.CPU)
	switch {
	case s.Latency == nil || s.At < 0 || s.At > plan.MaxDuration+time.Hour || least < 0:
		return whittle.Errorf(whittle.Invalid, "a sample has no latencies, or a time below 0")
	case min(s.Arrivals, s.Completed, s.Failed, s.InFlight, l.Requests, l.Sent, l.Received, l.Finished, l.Failed, l.Skipped) < 0:
		return whittle.Errorf(whittle.Invalid, "a sample has a count below 0")
	}
	return checkCounts(l.Codes, l.Errors)
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

// Partial is the result of a part of a run: all that its report is made of.
type Partial struct {
	Names         []PartialName        `json:"names"`
	Codes         map[int]int64        `json:"codes"`
	Errors        map[string]int64     `json:"errors"`
	Samples       map[string]string    `json:"error_samples"`
	Connect       *latency.Histogram   `json:"connect"`
	FirstByte     *latency.Histogram   `json:"first_byte"`
	ScheduleError *latency.Histogram   `json:"schedule_error"`
	Paces         map[int]PartialPace  `json:"paces,omitempty"` // by a closed model's group, from 1
	Classes       []*latency.Histogram `json:"classes"`
	Unfinished    int64                `json:"unfinished"`

	Users   report.Users  `json:"users"`
	Elapsed time.Duration `json:"elapsed"`
	Early   bool          `json:"early"` // the part ended before its plan
	CPU     time.Duration `json:"cpu"`
	// Late is how late the part began.
	Late time.Duration `json:"late"`
	// Void is why the part's figures may not be used. Empty: they may.
	Void     string   `json:"void"`
	Warnings []string `json:"warnings"` // of the part's generator
	// ScriptFailures are the scripts that failed.
	ScriptFailures []report.ScriptFailure `json:"script_failures,omitempty"`
}

// PartialName is a request name's part of a Partial.
type PartialName struct {
	Requests  int64              `json:"requests"`
	Completed int64              `json:"completed"`
	Failed    int64              `json:"failed"`
	Sent      int64              `json:"sent"`
	Received  int64              `json:"received"`
	Intended  *latency.Histogram `json:"intended"`
	Actual    *latency.Histogram `json:"actual"`
}

// PartialPace is what the correction of a group's latencies needs.
type PartialPace struct {
	Actual *latency.Histogram `json:"actual"`
	Gap    *latency.Histogram `json:"gap"`
}

func newPartial(t *tally) *Partial {
	p := &Partial{
		Codes: t.codes, Errors: t.errors, Samples: t.samples, Connect: &t.connect, FirstByte: &t.firstByte, ScheduleError: &t.scheduleError,
		Unfinished: t.unfinished,
	}
	for i := range t.names {
		n := &t.names[i]
		p.Names = append(p.Names, PartialName{n.requests, n.completed, n.failed, n.sent, n.received, &n.intended, &n.actual})
	}
	for i := range t.classes {
		p.Classes = append(p.Classes, &t.classes[i])
	}
	for i, g := range t.paces {
		if p.Paces == nil {
			p.Paces = map[int]PartialPace{}
		}
		p.Paces[i] = PartialPace{&g.actual, &g.gap}
	}
	return p
}

// tally is what the part has counted, of a plan with so many names and groups.
func (p *Partial) tally(names, groups int) (*tally, error) {
	t := newTally(names)
	if len(p.Names) != names || len(p.Classes) != len(t.classes) || len(p.Paces) > groups {
		return nil, whittle.Errorf(whittle.Invalid, "it is a result of another plan")
	}
	if err := checkCounts(p.Codes, p.Errors); err != nil {
		return nil, err
	}
	missing := false
	give := func(to, from *latency.Histogram) {
		if missing = missing || from == nil; !missing {
			to.Merge(from)
		}
	}
	least := min(p.Unfinished, p.Users.Started, p.Users.Skipped, p.Users.Finished, p.Users.Failed, int64(p.Elapsed), int64(p.CPU))
	for i := range p.Names {
		n, to := &p.Names[i], &t.names[i]
		least = min(least, n.Requests, n.Completed, n.Failed, n.Sent, n.Received)
		to.requests, to.completed, to.failed, to.sent, to.received = n.Requests, n.Completed, n.Failed, n.Sent, n.Received
		give(&to.intended, n.Intended)
		give(&to.actual, n.Actual)
	}
	for i := range p.Classes {
		give(&t.classes[i], p.Classes[i])
	}
	for i, g := range p.Paces {
		if i < 1 || i > groups {
			return nil, whittle.Errorf(whittle.Invalid, "it has users of a group that the plan has not")
		}
		give(&t.pace(i).actual, g.Actual)
		give(&t.pace(i).gap, g.Gap)
	}
	give(&t.connect, p.Connect)
	give(&t.firstByte, p.FirstByte)
	give(&t.scheduleError, p.ScheduleError)
	if missing || least < 0 {
		return nil, whittle.Errorf(whittle.Invalid, "it has no latencies, or a count below 0")
	}
	t.codes, t.errors = addCounts(t.codes, p.Codes, 1), addCounts(t.errors, p.Errors, 1)
	for kind, text := range p.Samples {
		if len(t.samples) < maxKinds {
			t.samples[kind] = printableLine(text, maxSample)
		}
	}
	t.unfinished = p.Unfinished
	return t, nil
}

// printableFailures are the failures of scripts as they may be shown.
func (p *Partial) printableFailures() (out []report.ScriptFailure) {
	for _, f := range p.ScriptFailures {
		f.Element, f.File, f.Sample = printableLine(f.Element, maxReason), printableLine(f.File, maxReason), printableLine(f.Sample, maxSample)
		f.Line, f.Count = max(f.Line, 0), max(f.Count, 0)
		out = report.AddScriptFailure(out, f)
	}
	return out
}

// RunPart runs Options.Part of the plan. The flows before and after the run, and what is
// watched, are those of the whole. An error means that nothing was measured.
func (r *Runner) RunPart(ctx context.Context, p PartRun) (*Partial, error) {
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
	if p.Exported {
		s.recorder.exported()
	}
	s.onSample = func(one *Sample) {
		if p.Exported {
			one.Outcomes = s.recorder.drainOutcomes().sampled()
		}
		p.OnSample(one)
	}
	if !s.sleepUntil(ctx, 0) {
		return nil, whittle.Errorf(whittle.Unavailable, "the run was ended before it began")
	}
	late := s.now().Sub(p.Start)
	w := newMonitor(s, new(meter))
	w.start(ctx)
	early := !s.send(ctx)
	w.finish()
	whole := w.report(r.target, early || s.end.early.Load())
	out := newPartial(s.recorder.total())
	out.Users, out.Elapsed, out.Early, out.CPU, out.Late = whole.Users, w.sampledAt, whole.Early, time.Duration(whole.Generator.CPU*1e6), late
	out.Void, out.Warnings = whole.Void, append(whole.GeneratorWarnings(), proxyNotes(r.plan, n)...)
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
