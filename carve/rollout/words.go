package rollout

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// Next says in one plain sentence what happens next and what it waits for.
func Next(p whittle.Rollout, s State, in Input, now time.Time) string {
	now = s.clamp(now)
	if s.Share > 0 {
		if reason := fallReason(in); reason != "" {
			return "Back to the monolith at once. " + reason + "."
		}
	}
	if s.Held {
		return fmt.Sprintf("Nothing until it is resumed. %s", s.HeldReason)
	}
	switch s.Phase {
	case whittle.PhaseOff:
		return "Nothing: the route is switched off until it is promoted or reset."
	case whittle.PhaseLive:
		return fmt.Sprintf("Nothing more to shift: the candidate serves %s, and a sample is still compared.", percent(s.Share))
	}
	if s.Share == 0 && in.Verdict == whittle.Different {
		return fmt.Sprintf("No shift: the verdict is %s. Mend the candidate and reset, or declare the difference in the config.", VerdictIs(whittle.Different, in.Summary))
	}
	needs, waiting := waits(p, s, in, now)
	if !waiting {
		return s.move(p) + " now."
	}
	gap := ": "
	if strings.HasPrefix(needs[0], soonest) {
		gap = " "
	}
	return s.move(p) + gap + strings.Join(needs, "; ") + "."
}

// move names the step itself: "5 % → 25 %".
func (s State) move(p whittle.Rollout) string {
	next, more := nextStep(p, s.Share)
	if !more {
		return percent(s.Share) + " → live"
	}
	from := percent(s.Share)
	if s.Phase == whittle.PhaseShadow {
		from = "shadow"
	}
	return from + " → " + percent(next)
}

// percent writes a share as people do: "5 %", "0.25 %".
func percent(s whittle.Share) string {
	return strconv.FormatFloat(s.Percent(), 'f', -1, 64) + " %"
}

func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return strconv.Itoa(n) + " requests"
}

const soonest = "in "

// earliest rounds a wait up, so that it never says 0 of something that waits.
func earliest(d time.Duration) string {
	if d > time.Second {
		d = (d + time.Second - 1).Truncate(time.Second)
	} else {
		d = (d + time.Millisecond - 1).Truncate(time.Millisecond)
	}
	return soonest + units.Span(d) + " at the earliest"
}
