package rollout

import (
	"fmt"
	"math"
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

// remembering updates the refusal by the verdict on this epoch: DIFFERENT is kept,
// EQUIVALENT clears it, UNDECIDED changes nothing.
func (s State) remembering(in Input, now time.Time) State {
	same := !s.Refused.At.IsZero() && s.Refused.Epoch == in.Ground.Epoch
	switch {
	case in.Verdict == whittle.Different && !same:
		s.Refused = Refusal{At: now, Summary: in.Summary, Epoch: in.Ground.Epoch, After: in.Ground.Compared}
	case in.Verdict == whittle.Equivalent && same:
		s.Refused = Refusal{}
	}
	return s
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
			if in.StepServed == 0 && now.Sub(s.Since) >= p.Hold && p.Sticky.By == "address" {
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

// Gates lists the gates before the next step, and which moment that is; none where there
// is no step that could be taken by itself.
func Gates(p whittle.Rollout, s State) (gates []whittle.Gate, before whittle.GateMoment) {
	_, more := nextStep(p, s.Share)
	switch {
	case !p.Auto && more, s.Phase == whittle.PhaseOff, s.Phase == whittle.PhaseLive, s.Phase == whittle.PhaseRolledBack && (p.Retry <= 0 || s.ByHand):
		return nil, ""
	case s.Share == 0:
		before = whittle.GateFirst
	case more:
		before = whittle.GateStep
	default:
		before = whittle.GateLive
	}
	return gatesAt(p, before), before
}

func gatesAt(p whittle.Rollout, m whittle.GateMoment) (gates []whittle.Gate) {
	for _, g := range p.Gates {
		if slices.Contains(g.Before, m) {
			gates = append(gates, g)
		}
	}
	return gates
}

// closed is what the gates before the next step wait for, as clauses. Those that are
// opened by hand can be at any time; the others are asked when the step is due.
func closed(p whittle.Rollout, s State, in Input, due bool) (needs []string) {
	gates, _ := Gates(p, s)
	for _, g := range gates {
		switch state := in.Gates[g.Name]; {
		case s.Opened(g.Name), state.Open:
		case g.Hook == nil:
			needs = append(needs, fmt.Sprintf("needs the approval of gate %s", g.Name))
		case !due:
		case state.Wait == "":
			needs = append(needs, fmt.Sprintf("waiting for gate %s, which has not responded yet", g.Name))
		default:
			needs = append(needs, fmt.Sprintf("waiting for gate %s %s", g.Name, state.Wait))
		}
	}
	return needs
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
	if strings.HasPrefix(summary, string(v)+" ") || strings.HasPrefix(summary, string(v)+": ") {
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

// Needed gives how many responses that users got from the candidate have to be
// compared, none of them differing, until at most the given share can differ.
type Needed func(most float64) int

// Budget says where the harm budget stands: the share in force and the next one
// times the bound on the share of wrong responses. perSecond is how many responses
// of the candidate to users are compared now.
//
// Users who are moved to the candidate get a wrong response in a share of at most
// Bound of their requests, at the bound's confidence and at any time; so a step to
// the share s costs at most s·Bound of the route's requests. The first step is the
// only one that needs no such bound, since nothing can be known before it.
func Budget(p whittle.Rollout, s State, served whittle.Served, needed Needed, perSecond float64) whittle.Harm {
	h := whittle.Harm{
		Budget: p.Harm, Compared: served.Compared, Differing: served.Differing, Users: served.Users, Seconds: served.Seconds,
		Bound: served.Bound, Binds: "requests", Uncompared: served.Uncompared, Why: served.Why,
	}
	if served.UserBound > served.Bound {
		h.Bound, h.Binds = served.UserBound, "users"
	}
	h.Bound = h.Uncompared + (1-h.Uncompared)*h.Bound // of the rest nothing is known
	h.Spent = fraction(s.Share) * h.Bound
	if next := Promotion(p, s); next > s.Share {
		h.Next = fraction(next) * h.Bound
		if s.Share > 0 && p.Harm > 0 && h.Next > p.Harm {
			h.Needed, h.Minutes = waitFor(p.Harm/fraction(next), served, needed, perSecond)
		}
	}
	h.Summary = harmWords(p, s, &h)
	return h
}

// waitFor is how many more compared responses bring the bound to most, and how
// many minutes that takes.
func waitFor(most float64, served whittle.Served, needed Needed, perSecond float64) (more int, minutes float64) {
	if served.Differing > 0 || needed == nil || served.Uncompared >= most {
		return -1, -1
	}
	most = (most - served.Uncompared) / (1 - served.Uncompared)
	more = max(1, needed(most)-served.Compared)
	if perSecond <= 0 {
		return more, -1
	}
	return more, math.Ceil(float64(more)/perSecond/6) / 10
}

// unearned is why the next step is not within the budget, as a clause, or "".
func unearned(p whittle.Rollout, s State, h *whittle.Harm) string {
	if p.Harm <= 0 || s.Share == 0 || h.Next <= p.Harm {
		return ""
	}
	over := fmt.Sprintf("up to %s of the requests could get a wrong response, and the harm budget is %s", share(h.Next), share(p.Harm))
	switch {
	case h.Differing > 0:
		return fmt.Sprintf("%s: %d of %d compared responses of the candidate to users differ", over, h.Differing, h.Compared)
	case h.Needed < 0 && h.Uncompared > 0:
		return fmt.Sprintf("%s: %s of the requests could not be compared (%s), so they count as wrong; "+
			"mirror.max_body says how long a body may be, safe or dry_run that a write may be mirrored", over, units.Percent(h.Uncompared), h.Why)
	case h.Binds == "users":
		return fmt.Sprintf("%s: %d users were compared, and a user is the unit here", over, h.Users)
	case h.Minutes >= 0:
		return fmt.Sprintf("%s: %d more of the candidate's responses to users must be compared, about %s at today's rate", over, h.Needed, minutes(h.Minutes))
	}
	return fmt.Sprintf("%s: %d more of the candidate's responses to users must be compared", over, h.Needed)
}

func harmWords(p whittle.Rollout, s State, h *whittle.Harm) string {
	if p.Harm <= 0 {
		return "no harm budget is kept"
	}
	if s.Share == 0 {
		return fmt.Sprintf("no user is on the candidate, so nothing of the budget of %s is spent", share(p.Harm))
	}
	text := fmt.Sprintf("%d of %d compared responses of the candidate to users differ: at most %s of the route's requests get a wrong response, of a budget of %s",
		h.Differing, h.Compared, share(h.Spent), share(p.Harm))
	if why := unearned(p, s, h); why != "" {
		return text + "; for the next step " + why
	}
	return text
}

// unsoaked is why the next step waits for time, as a clause, or "". Exchanges are not
// independent: a candidate that fails for ten seconds in every two minutes gives
// thousands of right responses in between. A fault that recurs within p.Soak, and shows
// in the requests of that time, is compared before more users than those of the first step
// depend on the candidate. Nothing is promised about rarer faults.
func unsoaked(p whittle.Rollout, s State, h *whittle.Harm) string {
	need := int((p.Soak + time.Second - 1) / time.Second)
	if s.Share == 0 || h.Seconds >= need {
		return ""
	}
	return fmt.Sprintf("needs comparisons in %d different seconds (%d so far), to catch a fault that comes and goes", need, h.Seconds)
}

// Watch is the share of the candidate's responses to users that are compared: all
// of them until a bound is known with which the last step keeps to the budget, then
// fewer and fewer, but never less than floor; all of them again while the candidate is suspected.
func Watch(p whittle.Rollout, s State, served whittle.Served, needed Needed, floor whittle.Share) whittle.Share {
	if served.Suspected && s.Share > 0 {
		return whittle.All
	}
	if p.Harm <= 0 || s.Share == 0 || needed == nil {
		return floor
	}
	enough := needed(p.Harm / fraction(lastStep(p)))
	switch {
	case served.Compared < enough, s.Phase == whittle.PhaseShift && served.Differing > 0:
		return whittle.All
	}
	part := float64(whittle.All) * float64(enough) / float64(max(1, served.Compared))
	return max(floor, min(whittle.All, whittle.Share(part)))
}

// UnearnedWithin lists the steps that so many requests of the route a day, evenly
// spread and none of them differing, could not earn within a day each.
func UnearnedWithin(p whittle.Rollout, needed Needed, perDay float64) []whittle.Share {
	if p.Harm <= 0 {
		return nil
	}
	var late []whittle.Share
	before := whittle.Share(0)
	for next, more := nextStep(p, 0); more; next, more = nextStep(p, next) {
		if before > 0 && float64(needed(p.Harm/fraction(next))) > fraction(before)*perDay {
			late = append(late, next)
		}
		before = next
	}
	return late
}

func fraction(s whittle.Share) float64 { return float64(s) / float64(whittle.All) }
