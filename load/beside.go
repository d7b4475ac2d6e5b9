package load

import (
	"context"
	"fmt"
	"strings"

	"whittle"
	"whittle/load/plan"
)

// before runs the flow of that name, whose captures every virtual user then
// starts with. Its requests are not in the report. An error is the failure that
// ended it: nothing that follows would mean what the plan says.
func (s *session) before(ctx context.Context) error {
	w, failure := s.alone(ctx, s.plan.Before)
	if failure != "" {
		return whittle.Errorf(whittle.Unavailable, "run plan %s: the flow before the run failed: %s", s.plan.Name, failure)
	}
	s.base = w.scope.Values
	return nil
}

// after runs the flow of that name; what fails in it is a warning.
func (s *session) after(ctx context.Context) (warning string) {
	if len(s.plan.After) == 0 {
		return ""
	}
	if _, failure := s.alone(ctx, s.plan.After); failure != "" {
		return "the flow after the run failed: " + failure
	}
	return ""
}

// alone runs a flow once, as a user whose figures nobody counts.
func (s *session) alone(ctx context.Context, steps []plan.Step) (w *worker, failure string) {
	w = newWorker(s, &shard{sum: newTally(plan.MaxNames)})
	w.apart = true
	w.due = s.now()
	w.pcg.Seed(s.seed, aloneSeed)
	w.dress()
	ended := !w.steps(ctx, steps)
	w.forget()
	var kinds []string
	for kind, n := range w.shard.sum.errors {
		kinds = append(kinds, fmt.Sprintf("%s (%d)", kind, n))
	}
	switch {
	case len(kinds) > 0:
		return w, strings.Join(kinds, ", ")
	case ended:
		return w, "the run was ended"
	}
	return w, ""
}

// aloneSeed keeps its choices apart from those of virtual user 0.
const aloneSeed = 1 << 63
