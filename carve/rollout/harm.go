package rollout

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"whittle"
	"whittle/internal/units"
)

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
