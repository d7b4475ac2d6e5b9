package load

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"whittle"
	"whittle/load/expr"
	"whittle/load/plan"
)

// before runs the plan's flow before the run, and returns the variables that every
// virtual user starts with; nil: there is no such flow. Its requests are not in the
// report. A failure is an error: the run would not be what the plan says.
func (t task) before(ctx context.Context) ([]expr.Value, error) {
	if len(t.plan.Before) == 0 {
		return nil, nil
	}
	values, failure := t.runUnrecorded(ctx, t.plan.Before)
	if failure != "" {
		return nil, whittle.Errorf(whittle.Unavailable, "run plan %s: the flow before the run failed: %s", t.plan.Name, failure)
	}
	return values, nil
}

// after runs the plan's flow after the run. A failure is a warning.
func (t task) after(ctx context.Context) (warning string) {
	if len(t.plan.After) == 0 {
		return ""
	}
	if _, failure := t.runUnrecorded(ctx, t.plan.After); failure != "" {
		return "the flow after the run failed: " + failure
	}
	return ""
}

// runUnrecorded runs a flow once, as a user that is not counted in the report, and
// returns its variables.
func (t task) runUnrecorded(ctx context.Context, steps []plan.Step) (values []expr.Value, failure string) {
	t.mayLoop = false
	s, err := newExecution(t)
	if err != nil {
		return nil, err.Error()
	}
	defer s.close()
	u := s.newUserOf(&shard{sum: newTally(plan.MaxNames)})
	u.unrecorded = true
	u.due = s.now()
	u.pcg.Seed(s.seed, unrecordedSeed)
	u.begin()
	ended := !u.RunSteps(ctx, steps)
	u.client.Reset()
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(u.shard.sum.Errors)) {
		n := u.shard.sum.Errors[kind]
		kinds = append(kinds, fmt.Sprintf("%s (%d): %s", kind, n, u.shard.sum.Samples[kind]))
	}
	switch {
	case len(kinds) > 0:
		return nil, strings.Join(kinds, "; ")
	case ended:
		return nil, "the run was ended"
	}
	return u.scope.Values, ""
}

// unrecordedSeed gives such a user random choices other than virtual user 0's.
const unrecordedSeed = 1 << 63
