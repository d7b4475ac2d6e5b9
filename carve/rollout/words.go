package rollout

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"whittle"
	"whittle/internal/units"
)

// AtSink and AtObserver say what holds where no user's request passes whittle, and what does
// not; AtProxy where a proxy sends users to the candidate and nobody observes it.
const (
	AtSink = "The verdict holds, about whittle's own requests to both sides. Harm budget and exposure do not: whittle does not see what users got. " +
		"A mirror feeds whittle, which asks both sides itself and sends no user anywhere."
	AtProxy = "The verdict holds, about what whittle compares. Harm budget, bound on exposure, circuit breaker and fallback do not. " +
		"The proxy sends users to the candidate, at the share that whittle sets; while whittle is gone, the share stays."
	AtObserver = "Verdict, harm budget and guards hold, and the ledger as long as streams arrive; lost ones are unknown. " +
		"There is no fallback, and exposure is about guard.consecutive and what is in flight. Envoy serves users, and whittle looks on."
)

// Next says in one plain sentence what happens next and what it waits for.
func Next(p whittle.Rollout, s State, in Input, now time.Time) string {
	now = s.clamp(now)
	if s.Share > 0 {
		if reason := fallReason(in); reason != "" {
			return "Back to the monolith at once. " + reason + "."
		}
	}
	if s.Held && (s.Phase != whittle.PhaseRolledBack || p.Retry > 0 && !s.ByHand) {
		return fmt.Sprintf("Nothing until it is resumed. %s", s.HeldReason)
	}
	switch s.Phase {
	case whittle.PhaseOff:
		return "Nothing: the route is switched off until it is promoted or reset."
	case whittle.PhaseShadow, whittle.PhaseRolledBack:
		if p.Sink {
			return "Nothing: whittle sends no user to the candidate here."
		}
	case whittle.PhaseLive:
		return fmt.Sprintf("Nothing more to shift: the candidate serves %s, and a sample is still compared.", percent(s.Share))
	}
	if s.Share == 0 && in.Verdict == whittle.Different {
		return fmt.Sprintf("No shift: the verdict is %s. Fix the candidate and reset, or declare the difference in the config.", VerdictIs(whittle.Different, in.Summary))
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

// share writes a part of the requests: "0.5 %".
func share(f float64) string {
	percent := 100 * f
	if percent > 0 {
		places := math.Pow(10, 1-math.Floor(math.Log10(percent)))
		percent = math.Round(percent*places) / places
	}
	return strconv.FormatFloat(percent, 'f', -1, 64) + " %"
}

func minutes(m float64) string {
	switch {
	case m < 1:
		return "a minute"
	case m < 120:
		return fmt.Sprintf("%.0f minutes", math.Ceil(m))
	}
	return fmt.Sprintf("%.0f hours", math.Ceil(m/60))
}
