package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// Self is the author of decisions that nobody has ordered.
const Self = "whittle"

// Step asks what follows from the evidence at now. The decision is nil where
// nothing follows; the state may still differ by its Since, which the first
// Step sets, and by what it remembers of the verdict. A now before the last decision counts as that moment, so that
// the time line never runs backwards when a clock is set back.
func Step(p whittle.Rollout, s State, in Input, now time.Time) (State, *whittle.Decision) {
	now = s.clamp(now)
	if s.Since.IsZero() {
		s.Since = now
	}
	s = s.remembering(in, now)
	if s.Share > 0 {
		if reason := fallReason(in); reason != "" {
			again := monolithAgain
			if p.AtProxy {
				again = "; the proxy is told to send everything to the monolith."
			}
			return s.rolledBack(reason+again, Self, now)
		}
		if last := lastStep(p); s.Share > last {
			return s.to(whittle.PhaseShift, last, fmt.Sprintf(
				"The steps in the config now end at %s; the share falls from %s.", percent(last), percent(s.Share)), Self, now)
		}
	}
	if p.Sink && s.Share > 0 {
		return s.to(whittle.PhaseShadow, 0, "A mirror feeds this route now, and whittle sends no user to the candidate.", Self, now)
	}
	if s.Held || in.Breach != nil {
		return s, nil
	}
	if _, waiting := waits(p, s, in, now); waiting {
		return s, nil
	}
	return s.onward(p, in, now)
}

// fallReason is why users must leave the candidate, as a clause, or "".
func fallReason(in Input) string {
	switch {
	case in.Breach != nil && in.Breach.Hard:
		return fmt.Sprintf("The %s tripped%s", in.Breach.Guard, colon(in.Breach.Reason))
	case in.Breach != nil:
		return fmt.Sprintf("The %s guard was breached%s", in.Breach.Guard, colon(in.Breach.Reason))
	case in.Verdict == whittle.Different:
		return "The verdict is " + VerdictIs(whittle.Different, in.Summary)
	}
	return ""
}

const monolithAgain = "; the monolith serves everything again."

// onward takes the next step, which waits has nothing against.
func (s State) onward(p whittle.Rollout, in Input, now time.Time) (State, *whittle.Decision) {
	next, more := nextStep(p, s.Share)
	switch s.Phase {
	case whittle.PhaseShadow:
		return s.to(whittle.PhaseShift, next, fmt.Sprintf(
			"The verdict is %s; the shift starts at %s.", VerdictIs(whittle.Equivalent, in.Summary), percent(next)), Self, now)
	case whittle.PhaseRolledBack:
		return s.to(whittle.PhaseShift, next, fmt.Sprintf(
			"%s have passed since the rollback and the verdict is EQUIVALENT; the shift starts again at %s.", units.Span(p.Retry), percent(next)), Self, now)
	case whittle.PhaseShift:
		stood := fmt.Sprintf("%s was held for %s and served %s", percent(s.Share), units.Span(now.Sub(s.Since).Round(time.Second)), requests(in.StepServed))
		if !more {
			return s.to(whittle.PhaseLive, s.Share, stood+"; the shift is over.", Self, now)
		}
		return s.to(whittle.PhaseShift, next, fmt.Sprintf("%s, and the verdict is EQUIVALENT; on to %s.", stood, percent(next)), Self, now)
	}
	return s, nil
}

// waits lists what the next automatic step waits for, in words; waiting is
// true where it may not be taken now. Gates come last: they are asked about a step that
// waits for nothing else.
func waits(p whittle.Rollout, s State, in Input, now time.Time) (needs []string, waiting bool) {
	needs, waiting = unready(p, s, in, now)
	if !waiting || len(needs) > 0 {
		needs = append(needs, closed(p, s, in, !waiting)...)
	}
	return needs, waiting || len(needs) > 0
}

// unready is like waits, but leaves out the gates.
func unready(p whittle.Rollout, s State, in Input, now time.Time) (needs []string, waiting bool) {
	if p.Sink {
		return nil, true
	}
	_, more := nextStep(p, s.Share)
	switch s.Phase {
	case whittle.PhaseOff, whittle.PhaseLive:
		return nil, true
	case whittle.PhaseRolledBack:
		if p.Retry <= 0 || s.ByHand {
			return []string{"needs a promotion by hand"}, true
		}
		if left := p.Retry - now.Sub(s.Since); left > 0 {
			needs = append(needs, earliest(left))
		}
	case whittle.PhaseShift:
		if left := p.Hold - now.Sub(s.Since); left > 0 {
			needs = append(needs, earliest(left))
		}
		if in.StepServed < p.MinRequests {
			served := fmt.Sprintf("%d of %s served", in.StepServed, requests(p.MinRequests))
			if in.StepServed == 0 && now.Sub(s.Since) >= p.Hold {
				served += " (by address, all requests of one machine are one user: see rollout.sticky_by)"
			}
			needs = append(needs, served)
		}
	}
	if more {
		if !p.Auto {
			return append(needs, "needs a promotion by hand"), true
		}
		if in.Verdict != whittle.Equivalent {
			needs = append(needs, fmt.Sprintf("needs the verdict EQUIVALENT (%s now)", in.Verdict))
		}
		if why := unearned(p, s, &in.Harm); why != "" {
			needs = append(needs, why)
		}
		if why := unsoaked(p, s, &in.Harm); why != "" {
			needs = append(needs, why)
		}
		if in.Wait != "" {
			needs = append(needs, in.Wait)
		}
	}
	return needs, len(needs) > 0
}

// Promotion is the share that a promotion would reach now. 0: it reaches none,
// because the route is off, live, or at its last step.
func Promotion(p whittle.Rollout, s State) whittle.Share {
	if p.Sink || s.Phase == whittle.PhaseOff || s.Phase == whittle.PhaseLive {
		return 0
	}
	next, _ := nextStep(p, s.Share)
	return next
}

// nextStep is the smallest step above the share; more is false where the share
// is at the end. It looks at the share and not at an index, so that a config
// with other steps can take over a running shift.
func nextStep(p whittle.Rollout, share whittle.Share) (next whittle.Share, more bool) {
	for _, step := range steps(p) {
		step = min(step, whittle.All)
		if step > share && (!more || step < next) {
			next, more = step, true
		}
	}
	return next, more
}

func lastStep(p whittle.Rollout) whittle.Share {
	var last whittle.Share
	for _, step := range steps(p) {
		last = max(last, min(step, whittle.All))
	}
	return last
}

// steps gives a policy that names none (or only 0) the one step that is left.
func steps(p whittle.Rollout) []whittle.Share {
	if slices.ContainsFunc(p.Steps, func(step whittle.Share) bool { return step > 0 }) {
		return p.Steps
	}
	return []whittle.Share{whittle.All}
}

// to enters a phase or a step and writes the decision.
func (s State) to(phase whittle.Phase, share whittle.Share, reason, by string, now time.Time) (State, *whittle.Decision) {
	d := &whittle.Decision{At: now, From: s.Share, To: share, Phase: phase, Reason: reason, By: by}
	s.Phase, s.Share, s.Since, s.Decided, s.Reason, s.ByHand, s.Approved = phase, share, now, now, reason, false, ""
	if share == 0 {
		s.Forced = ""
	}
	return s, d
}

func (s State) rolledBack(reason, by string, now time.Time) (State, *whittle.Decision) {
	next, d := s.to(whittle.PhaseRolledBack, 0, reason, by, now)
	next.ByHand = by != Self
	return next, d
}

func (s State) clamp(now time.Time) time.Time {
	for _, past := range []time.Time{s.Since, s.Decided} {
		if now.Before(past) {
			now = past
		}
	}
	return now
}

// VerdictIs is a verdict with its sentence, for the middle of another sentence. Where the
// sentence begins with the verdict's word, the word is not said twice.
func VerdictIs(v whittle.State, summary string) string {
	if strings.HasPrefix(summary, string(v)+" ") {
		return strings.TrimRight(summary, ".; ")
	}
	return string(v) + colon(summary)
}

// colon appends a quoted sentence to a clause.
func colon(sentence string) string {
	sentence = strings.TrimRight(strings.TrimSpace(sentence), ".;")
	if sentence == "" {
		return ""
	}
	return ": " + sentence
}

// Lowered is a state whose share goes down because of what is known elsewhere in a
// fleet. It keeps its phase where users stay on the candidate.
func Lowered(s State, to whittle.Share, reason string, now time.Time) (State, *whittle.Decision) {
	now = s.clamp(now)
	if to == 0 {
		return s.rolledBack(reason+monolithAgain, Self, now)
	}
	return s.to(whittle.PhaseShift, min(to, s.Share), reason+".", Self, now)
}
