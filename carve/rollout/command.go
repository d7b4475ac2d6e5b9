package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"whittle"
)

// Kind is what an order asks for.
type Kind string

// The orders.
const (
	Promote  Kind = "promote"  // one step on
	Hold     Kind = "hold"     // nothing by itself but a fall
	Resume   Kind = "resume"   // ends a hold
	Rollback Kind = "rollback" // share 0 until it is promoted by hand
	Off      Kind = "off"      // share 0, and nothing is mirrored
	Reset    Kind = "reset"    // share 0, evidence afresh, in shadow
	Approve  Kind = "approve"  // opens gates before the next step
)

// Kinds lists every order, in the order in which they are documented.
var Kinds = []Kind{Promote, Hold, Resume, Rollback, Off, Reset, Approve}

// MaxReason bounds an order's reason, in bytes; MaxBy bounds its author.
const (
	MaxReason = 500
	MaxBy     = 100
)

// Order is what somebody asks for by hand.
type Order struct {
	Kind Kind
	// Reason is kept in the time line. Empty: none was given; a forced
	// promotion needs one.
	Reason string
	// By is who asks. Empty: "somebody".
	By string
	// Force promotes although the verdict is UNDECIDED, the harm budget does not
	// allow the step, or a guard lets it wait. It does not overrule DIFFERENT, and
	// other orders ignore it.
	Force bool
	// To is the share that a promotion is meant to reach; where the next step
	// is another one, the order is refused, so that an order sent twice does
	// not move two steps. 0: whichever step is next.
	To whittle.Share
	// Gate is the gate that an approval is for, or that orders a rollback. Empty: all that
	// are opened by hand, and none.
	Gate string
	// Generation is that of the position which whoever gives the order has seen.
	// Where the route has moved on, an order that could raise the share or forget
	// evidence is refused; one that can only lower the share is carried out. 0: the
	// order fits whatever is in force.
	Generation uint64
}

// Lowers reports whether the order can only lower the share, so that it is right
// whatever has happened since it was given.
func (c *Order) Lowers() bool {
	return c.Kind == Rollback || c.Kind == Off || c.Kind == Hold
}

// Command carries out an order. Where the order changes nothing (a route that
// is off is switched off), the decision is nil. Errors are *whittle.Error:
// Invalid for an order that is wrong in itself, FailedPrecondition for one that
// the state or the verdict forbids; the state is then the one given.
func Command(p whittle.Rollout, s State, in Input, c Order, now time.Time) (State, *whittle.Decision, error) {
	c, err := c.cleaned()
	if err != nil {
		return s, nil, err
	}
	now = s.clamp(now)
	given := s
	if s.Since.IsZero() {
		s.Since = now
	}
	next, d, err := s.remembering(in, now).carriedOut(p, in, c, now)
	if err != nil {
		return given, nil, err
	}
	return next, d, nil
}

// carriedOut is Command for an order that is right in itself.
func (s State) carriedOut(p whittle.Rollout, in Input, c Order, now time.Time) (State, *whittle.Decision, error) {
	switch c.Kind {
	case Promote:
		return s.promoted(p, in, c, now)
	case Hold:
		return s.hold(c, now)
	case Resume:
		return s.resumed(c, now)
	case Rollback:
		if s.Phase == whittle.PhaseOff {
			return s, nil, refuse("the route is off, so there is nothing to roll back", "")
		}
		how := "by hand"
		if c.Gate != "" {
			how = "by gate " + c.Gate
		}
		next, d := s.rolledBack(said("Rolled back "+how, c), c.By, now)
		return next, d, nil
	case Off:
		if s.Phase == whittle.PhaseOff {
			return s, nil, nil
		}
		next, d := s.to(whittle.PhaseOff, 0, said("Switched off by hand", c), c.By, now)
		return next.unheld(), d, nil
	case Reset:
		next, d := s.to(whittle.PhaseShadow, 0, said("Evidence starts afresh, back in shadow", c)+s.afreshUntil(in), c.By, now)
		return next.unheld(), d, nil
	case Approve:
		return s.approved(p, c, now)
	}
	return s, nil, whittle.Errorf(whittle.Invalid, "unknown order %q", c.Kind)
}

func (s State) promoted(p whittle.Rollout, in Input, c Order, now time.Time) (State, *whittle.Decision, error) {
	if s.Phase == whittle.PhaseOff {
		next, d := s.to(whittle.PhaseShadow, 0, said("Switched on by hand, in shadow", c), c.By, now)
		return next, d, nil
	}
	if p.Sink {
		return s, nil, refuse("no promotion: a mirror feeds this route, and only the proxy can send users to the candidate", "")
	}
	if s.Phase == whittle.PhaseLive {
		return s, nil, refuse(fmt.Sprintf("the candidate is live at %s: there is no further step", percent(s.Share)), "")
	}
	if reason := fallReason(in); reason != "" {
		return s, nil, refuse("no promotion: "+lowerFirst(reason),
			"fix the candidate and reset the route, or declare the difference under compare.expect")
	}
	step, more := nextStep(p, s.Share)
	if !more {
		next, d := s.to(whittle.PhaseLive, s.Share, said("Declared live by hand", c), c.By, now)
		return next, d, nil
	}
	if c.To != 0 && c.To != step {
		return s, nil, refuse(fmt.Sprintf("the next step is %s, not %s", percent(step), percent(c.To)), "steps are not skipped: promote to the next one first")
	}
	over, while := withheld(p, s, in)
	if over == "" {
		next, d := s.to(whittle.PhaseShift, step, said("Promoted by hand to "+percent(step), c), c.By, now)
		return next, d, nil
	}
	if !c.Force {
		return s, nil, refuse("no promotion: "+over, "wait for more traffic, or force it (--force) with a reason (-m TEXT), which is kept")
	}
	if why := s.unforced(in); why != "" {
		return s, nil, refuse("no promotion: "+why, hintUnforced)
	}
	next, d := s.to(whittle.PhaseShift, step, said("Forced by hand to "+percent(step)+" "+while, c), c.By, now)
	next.Forced = c.Reason
	return next, d, nil
}

// withheld is why the next step has to be forced, as a clause, or ""; while is how a
// forced step is recorded. It must not be called while the verdict is DIFFERENT.
func withheld(p whittle.Rollout, s State, in Input) (why, while string) {
	if in.Verdict != whittle.Equivalent {
		return "the verdict is " + VerdictIs(whittle.Undecided, in.Summary), "while the verdict is UNDECIDED"
	}
	if why = unearned(p, s, &in.Harm); why != "" {
		return why, "over the harm budget"
	}
	return in.Wait, "while a guard lets it wait"
}

// Withheld is why a promotion would have to be forced now, as a clause. Empty: it
// would not, or there is no further step, or it cannot be forced.
func Withheld(p whittle.Rollout, s State, in Input) string {
	if Promotion(p, s) == 0 || fallReason(in) != "" {
		return ""
	}
	why, _ := withheld(p, s, in)
	return why
}

func (s State) hold(c Order, now time.Time) (State, *whittle.Decision, error) {
	if s.Phase == whittle.PhaseOff {
		return s, nil, refuse("the route is off, so there is nothing to hold", "")
	}
	s.Held = true
	s.HeldReason = said("Held by "+c.By, c)
	return s.noted(s.HeldReason, c.By, now)
}

func (s State) resumed(c Order, now time.Time) (State, *whittle.Decision, error) {
	if !s.Held {
		hint := ""
		if s.Phase == whittle.PhaseRolledBack {
			hint = "after a rollback, promote the route"
		}
		return s, nil, refuse("the route is not held", hint)
	}
	return s.unheld().noted(said("Resumed by hand", c), c.By, now)
}

// noted is a decision that moves nothing.
func (s State) noted(reason, by string, now time.Time) (State, *whittle.Decision, error) {
	s.Decided = now
	return s, &whittle.Decision{At: now, From: s.Share, To: s.Share, Phase: s.Phase, Reason: reason, By: by}, nil
}

func (s State) unheld() State {
	s.Held, s.HeldReason = false, ""
	return s
}

// cleaned checks and bounds an order's texts, which come from outside.
func (c Order) cleaned() (Order, error) {
	c.Reason, c.By = strings.TrimSpace(c.Reason), strings.TrimSpace(c.By)
	c.By = cmp.Or(c.By, "somebody")
	if c.By == Self && c.Kind == Promote {
		return c, whittle.Errorf(whittle.Invalid, "%q is whittle itself, and cannot order a promotion", Self)
	}
	for _, f := range []struct {
		name, text string
		max        int
	}{{"reason", c.Reason, MaxReason}, {"by", c.By, MaxBy}, {"gate", c.Gate, MaxBy}} {
		if len(f.text) > f.max {
			return c, whittle.Errorf(whittle.Invalid, "the %s has %d bytes; %d are the limit", f.name, len(f.text), f.max)
		}
		if !utf8.ValidString(f.text) || strings.ContainsFunc(f.text, unicode.IsControl) {
			return c, whittle.Errorf(whittle.Invalid, "the %s must be one line of text", f.name)
		}
	}
	if c.To > whittle.All {
		return c, whittle.Errorf(whittle.Invalid, "a share of %s does not exist", percent(c.To))
	}
	if c.Kind == Promote && c.Force && c.Reason == "" {
		return c, whittle.Errorf(whittle.Invalid, "a forced promotion needs a reason").
			WithHint("say by -m TEXT why you do not wait for the evidence; the time line keeps it")
	}
	return c, nil
}

func refuse(message, hint string) error {
	return whittle.Errorf(whittle.FailedPrecondition, "%s", message).WithHint(hint)
}

// said makes a sentence of what was done and the reason given for it.
func said(done string, c Order) string {
	return done + colon(c.Reason) + "."
}

func lowerFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}
