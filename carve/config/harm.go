package config

import (
	"fmt"
	"strings"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/rollout"
)

// Limits of what a config may allow.
const (
	// mostExcused is the largest compare.max_differ: beyond it a comparison would mean
	// nothing.
	mostExcused = 0.05
	// leastHarm is the smallest rollout.harm: the evidence for less is a million
	// responses.
	leastHarm = 0.00001
)

// parseHarm reads a share of the requests.
func parseHarm(s string) (float64, error) {
	v, err := parsePercent(s)
	switch {
	case err != nil:
		return 0, err
	case v == 0:
		return 0, fmt.Errorf("%s allows no wrong response at all, which no number of comparisons can show: write 0.5%%, or off for no budget", quote(s))
	case v < leastHarm:
		return 0, fmt.Errorf("%s takes more than a million compared responses: write %s or more, or off for no budget", quote(s), percent(leastHarm))
	}
	return v, nil
}

// checkExcuses refuses settings that contradict each other.
func checkExcuses(a at, t *whittle.Route) {
	c, g := &t.Compare, &t.Guard
	const field = "compare.max_differ"
	switch {
	case c.MaxDiffer > mostExcused:
		a.failKey(field, "%s is too much to call anything EQUIVALENT: the most is %s; ignore the fields that may differ, or declare them in compare.expect", percent(c.MaxDiffer), percent(mostExcused))
	case c.MaxDiffer > g.Mismatch:
		a.failKey(field, "%s is above guard.mismatch, %s: a candidate called EQUIVALENT would be rolled back", percent(c.MaxDiffer), percent(g.Mismatch))
	}
}

// neededAt gives how many of the candidate's responses have to be compared, at the
// confidence of a route.
func neededAt(c *whittle.Comparison) rollout.Needed {
	return func(most float64) int { return compare.ServedNeeded(most, *c) }
}

// Unearned lists, for each route, the steps that so many requests a second could not
// earn within a day each, as sentences for a person.
func (f *File) Unearned(perSecond float64) []string {
	var list []string
	for i := range f.Routes {
		r := &f.Routes[i]
		if r.Candidate == nil {
			continue
		}
		late := rollout.UnearnedWithin(r.Rollout, neededAt(&r.Compare), perSecond*86_400)
		if len(late) == 0 {
			continue
		}
		names := make([]string, len(late))
		for k, s := range late {
			names[k] = percent(s.Percent() / 100)
		}
		list = append(list, fmt.Sprintf("%s: at %s requests a second the harm budget of %s cannot be earned within a day for the step to %s; take more "+
			"steps, raise rollout.harm, or promote by hand with a reason",
			r.Name, number(perSecond), percent(r.Rollout.Harm), strings.Join(names, " and to ")))
	}
	return list
}

func harmSteps(r *whittle.Route) string {
	if !isSafe(r) {
		return "users' responses cannot be compared, since asking twice would do it twice: steps after the first are by hand"
	}
	steps := r.Rollout.Steps
	var out []string
	for i := 1; i < len(steps); i++ {
		n := neededAt(&r.Compare)(r.Rollout.Harm / (steps[i].Percent() / 100))
		out = append(out, fmt.Sprintf("%s after %d", percent(steps[i].Percent()/100), n))
	}
	if len(out) == 0 {
		return "the only step is taken on mirrored evidence alone"
	}
	return strings.Join(out, ", ") + " of the candidate's responses to users were compared, none differing"
}
