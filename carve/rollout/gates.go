package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
)

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

// Due lists the gates to be asked now: those before a step that waits for nothing else,
// whether they have been opened or not.
func Due(p whittle.Rollout, s State, in Input, now time.Time) (gates []whittle.Gate, before whittle.GateMoment) {
	now = s.clamp(now)
	if s.Held || in.Breach != nil || s.Since.IsZero() || s.Share > 0 && fallReason(in) != "" {
		return nil, ""
	}
	if needs, waiting := unready(p, s, in, now); waiting || len(needs) > 0 {
		return nil, ""
	}
	gates, before = Gates(p, s)
	return slices.DeleteFunc(gates, func(g whittle.Gate) bool { return g.Hook == nil || s.Opened(g.Name) }), before
}

// Recalls lists the gates that are asked while users are on the candidate, and may take
// them off it.
func Recalls(p whittle.Rollout, s State) []whittle.Gate {
	if s.Share == 0 {
		return nil
	}
	return gatesAt(p, whittle.GateRollback)
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

// Opened reports whether a gate was opened by hand for the next step.
func (s State) Opened(gate string) bool {
	return s.Approved != "" && slices.Contains(strings.Split(s.Approved, ","), gate)
}

// approved opens gates by hand.
func (s State) approved(p whittle.Rollout, c Order, now time.Time) (State, *whittle.Decision, error) {
	gates, _ := Gates(p, s)
	if len(gates) == 0 {
		return s, nil, refuse("there is no gate before the next step", "rollout.gates in the config lists the gates")
	}
	var names, opened []string
	for _, g := range gates {
		names = append(names, g.Name)
		if (c.Gate == g.Name || c.Gate == "" && g.Hook == nil) && !s.Opened(g.Name) {
			opened = append(opened, g.Name)
		}
	}
	switch {
	case c.Gate != "" && !slices.Contains(names, c.Gate):
		return s, nil, refuse(fmt.Sprintf("there is no gate %q before the next step", c.Gate), "there are: "+strings.Join(names, ", "))
	case len(opened) == 0 && c.Gate == "" && s.Approved == "":
		return s, nil, refuse("every gate before the next step is asked by a webhook", "name the one to open by hand: "+strings.Join(names, ", "))
	case len(opened) == 0:
		return s, nil, nil // an order that was sent twice
	}
	if s.Approved != "" {
		s.Approved += ","
	}
	s.Approved += strings.Join(opened, ",")
	return s.noted(said(fmt.Sprintf("Approved by %s for %s: %s", c.By, s.move(p), gatesNamed(opened)), c), c.By, now)
}

func gatesNamed(names []string) string {
	if len(names) == 1 {
		return "gate " + names[0]
	}
	return "gates " + strings.Join(names, ", ")
}

// Waiting makes the time line's note that a gate delays a step.
func Waiting(p whittle.Rollout, s State, gate, wait string, now time.Time) (State, *whittle.Decision) {
	now = s.clamp(now)
	next, d, _ := s.noted(fmt.Sprintf("%s waits for gate %s %s.", s.move(p), gate, wait), Self, now) // without an error
	return next, d
}
