package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whittle"
)

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
