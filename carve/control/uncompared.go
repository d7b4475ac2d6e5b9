package control

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/internal/units"
)

// blind are the reasons not to compare a request that lie in the request itself or in its
// responses. Requests of the same kind are likely never to be compared, so nothing is
// known of them, however many others were compared. Requests that the candidate never
// gets (untranslated) and those left out by chance (sampled, shed) are not among them.
var blind = []string{whittle.SkipNotSafe, whittle.SkipTooLarge, whittle.SkipStreaming, whittle.SkipEncoded}

// uncompared counts the requests that could not be compared, by reason. All is how many
// requests there were, Of how many of them were to be compared: those left out by
// chance, or because nothing is watched, do not count.
type uncompared struct {
	Not map[string]int64 `json:"not,omitempty"`
	All int64            `json:"all"`
	Of  int64            `json:"of"`
	// Excused are requests that say nothing by themselves: those that have no meaning in the
	// contract (untranslated), and those to which the candidate gave no response (failed).
	Excused map[string]int64 `json:"excused,omitempty"`
}

func uncomparedIn(l *whittle.Ledger) uncompared {
	u := uncompared{All: l.Total - l.Pending, Of: l.Compared + l.Failed, Not: map[string]int64{}}
	for _, reason := range blind {
		u.Not[reason] = l.Skipped[reason]
	}
	u.Excused = map[string]int64{whittle.SkipUntranslated: l.Skipped[whittle.SkipUntranslated], "failed": l.Failed}
	maps.DeleteFunc(u.Excused, func(_ string, n int64) bool { return n == 0 })
	u.Of += u.Not[whittle.SkipTooLarge] + u.Not[whittle.SkipEncoded]
	return u
}

// since is the share of the requests after an earlier moment that could not be compared,
// and why.
func (u uncompared) since(before uncompared) (share float64, why string) {
	var reasons []string
	n := map[string]float64{}
	for _, reason := range blind {
		if more := u.Not[reason] - before.Not[reason]; more > 0 {
			n[reason] = float64(more)
			reasons = append(reasons, fmt.Sprintf("%s %s", units.Grouped(int(more)), reason))
		}
	}
	part := func(k float64, of int64) float64 { return min(1, k/max(1, k, float64(of))) }
	share = part(n[whittle.SkipNotSafe]+n[whittle.SkipStreaming], u.All-before.All)
	share += (1 - share) * part(n[whittle.SkipTooLarge]+n[whittle.SkipEncoded], u.Of-before.Of)
	return share, strings.Join(reasons, ", ")
}

// looks identifies the settings that decide whether a request can be compared. Counts
// taken under other settings do not apply.
func looks(spec *whittle.Route) string {
	return fingerprint(struct {
		MaxBody, MaxMemory, MaxResponse int64
		Safe                            bool
		DryRun                          *whittle.DryRunHeader
	}{spec.Mirror.MaxBody, spec.Mirror.MaxMemory, spec.Candidate.MaxResponse, spec.Safe, spec.DryRun})
}

// countUncompared takes note of what the account says by now. The caller holds mu.
func (e *evidence) countUncompared() {
	total := e.account.Total()
	_, was := e.uncompared.since(e.before)
	excused := e.uncompared.Excused
	e.uncompared = uncomparedIn(&total)
	if _, now := e.uncompared.since(e.before); now != was || total.Compared == 0 && !maps.Equal(excused, e.uncompared.Excused) {
		e.stale, e.changed = true, true // what is being saved has the words of before
	}
}

// forgetUncompared begins to count afresh, under a spec. The caller holds mu.
func (e *evidence) forgetUncompared(spec *whittle.Route) {
	e.countUncompared()
	e.before, e.looks = e.uncompared, looks(spec)
	e.stale, e.changed = true, true
}

// sayUncompared ends the verdict's sentence. Where no request could be compared, more of them
// decide nothing. The caller holds mu.
func (e *evidence) sayUncompared(v *whittle.Verdict) {
	share, why := e.uncompared.since(e.before)
	all := e.uncompared.All - e.before.All
	var left int64
	for _, reason := range blind {
		left += max(0, e.uncompared.Not[reason]-e.before.Not[reason])
	}
	for _, reason := range slices.Sorted(maps.Keys(e.uncompared.Excused)) {
		more := e.uncompared.Excused[reason] - e.before.Excused[reason]
		if more <= 0 {
			continue
		}
		left += more
		share = max(share, min(1, float64(left)/float64(max(1, all))))
		why = strings.TrimPrefix(why+fmt.Sprintf(", %s %s", units.Grouped(int(more)), reason), ", ")
	}
	switch {
	case share == 0:
	case share == 1 && v.Compared == 0:
		v.MoreNeeded = -1
		v.Summary = fmt.Sprintf("%s: none of the requests could be compared (%s), and more of their like decide nothing", v.State, why)
	default:
		v.Summary += fmt.Sprintf("; %s of the requests could not be compared (%s)", units.Percent(share), why)
	}
}

// known is what the judge knows of users' responses, and of how many requests nothing is
// known. The caller holds mu.
func (e *evidence) known() whittle.Served {
	served := e.judge.Served()
	served.Uncompared, served.Why = e.uncompared.since(e.before)
	return served
}
