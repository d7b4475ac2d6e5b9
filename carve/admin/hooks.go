package admin

import (
	"fmt"
	"io"
	"net/http"

	"whittle"
	"whittle/carve/rollout"
)

// maxHookBody bounds what a hook is sent, in bytes.
const maxHookBody = 64 << 10

// hook answers POST /hooks/ROUTE/STEP?key=KEY, by which a controller of traffic such as
// Flagger asks whether it may take a step: 200 where it may, 409 with the reason where not.
// It changes nothing, whoever asks. Flagger can send no Authorization header, so the key is
// in the URL, and is good for this alone. The body is the caller's own business.
func (s *server) hook(w http.ResponseWriter, r *http.Request) error {
	if s.o.HookKey == "" {
		return whittle.Errorf(whittle.NotFound, "hooks are switched off").WithHint("hook_key_file or hook_key_env under admin: in the config switches them on")
	}
	if key := r.URL.Query().Get("key"); len(key) > maxToken || !matches(key, digest(s.o.HookKey)) {
		if !s.wrong.Allow() {
			return whittle.Errorf(whittle.ResourceExhausted, "too many callers with a wrong key").WithHint("wait a few seconds")
		}
		return whittle.Errorf(whittle.Unauthenticated, "the key is missing or wrong").WithHint("write ?key=KEY behind the URL")
	}
	if n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxHookBody+1)); err != nil {
		return whittle.Errorf(whittle.Canceled, "read the body: %w", err)
	} else if n > maxHookBody {
		return whittle.Errorf(whittle.ResourceExhausted, "the body is longer than %d bytes", maxHookBody)
	}
	st, err := s.o.Controller.Route(named(r))
	if err != nil {
		return err
	}
	var why string
	switch step := r.PathValue("step"); step {
	case "rise":
		why = noRise(&st)
	case "live":
		if why = noRise(&st); why == "" && st.Phase == whittle.PhaseShift {
			why = fmt.Sprintf("the shift is not over: the candidate has %g %% of the users", st.Percent)
		}
	case "rollback":
		if st.Verdict.State != whittle.Different && st.Phase != whittle.PhaseRolledBack {
			why = "there is no reason to roll back: " + sayVerdict(&st)
		}
	default:
		return whittle.Errorf(whittle.NotFound, "there is no hook %q", step).WithHint("the hooks are rise, live and rollback")
	}
	if why != "" {
		return whittle.Errorf(whittle.FailedPrecondition, "%s", why)
	}
	return reply(w, map[string]string{"verdict": sayVerdict(&st)})
}

// noRise is why no more users should be on a route's candidate, as a clause; empty: they may.
func noRise(st *whittle.RouteStatus) string {
	switch {
	case st.Phase == whittle.PhaseOff:
		return "the route is off, so nothing is compared"
	case st.Held:
		return "the route is held; whittle resume lets it go on"
	case st.Phase == whittle.PhaseRolledBack:
		return "the candidate was rolled back, and " + sayVerdict(st)
	case st.Verdict.State != whittle.Equivalent:
		return sayVerdict(st)
	case st.NextShare == 0 && st.Phase != whittle.PhaseLive && !st.Sink:
		return "there is no further step, or the fleet has not said yet which it is"
	}
	return st.Withheld
}

func sayVerdict(st *whittle.RouteStatus) string {
	return "the verdict is " + rollout.VerdictIs(st.Verdict.State, st.Verdict.Summary)
}
