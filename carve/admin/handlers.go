package admin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"

	"whittle"
	"whittle/carve/rollout"
)

// Status is the response to GET /api/v1/status.
type Status struct {
	Version string                `json:"version"`
	Routes  []whittle.RouteStatus `json:"routes"`
	// Upstreams are those that requests are forwarded to, the monolith first.
	Upstreams []whittle.UpstreamStatus `json:"upstreams"`
	Remarks   []whittle.Remark         `json:"remarks,omitempty"`
	// Fleet is nil where this gateway is alone.
	Fleet *whittle.FleetStatus `json:"fleet,omitempty"`
}

// Order is the body of POST /api/v1/routes/{name}/{verb}.
type Order struct {
	// Reason is kept in the time line, at most rollout.MaxReason bytes.
	Reason string `json:"reason,omitempty"`
	// By is who asks. Empty: "somebody".
	By string `json:"by,omitempty"`
	// Force promotes while the verdict is UNDECIDED, and needs a reason.
	Force bool `json:"force,omitempty"`
	// To is the share, in basis points, that a promotion is meant to reach. 0:
	// the next step, whichever it is.
	To whittle.Share `json:"to_bp,omitempty"`
	// Gate is the gate that an approval is for. Empty: all that are opened by hand.
	Gate string `json:"gate,omitempty"`
	// Generation is the route's in the status that the order follows: where the route
	// has moved on, it is refused unless it can only lower the share. 0: it is carried
	// out on whatever is in force.
	Generation uint64 `json:"generation,omitempty"`
}

// Problem is the body of every response that is not a success.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

func (s *server) status(w http.ResponseWriter, _ *http.Request) error {
	st := Status{Version: s.o.Version, Routes: orEmpty(slices.Clone(s.o.Controller.Status())), Upstreams: []whittle.UpstreamStatus{}}
	for i := range st.Routes {
		st.Routes[i] = filled(st.Routes[i])
	}
	if s.o.Upstreams != nil {
		st.Upstreams = s.o.Upstreams()
	}
	if s.o.Remarks != nil {
		st.Remarks = s.o.Remarks()
	}
	if s.o.Fleet != nil {
		st.Fleet = s.o.Fleet()
	}
	return reply(w, st)
}

// named is the route that a request is about, which stands in its path or, for proxies that
// decode a path, in its query.
func named(r *http.Request) string {
	if name := r.PathValue("name"); name != "" {
		return name
	}
	return r.URL.Query().Get("route")
}

func (s *server) route(w http.ResponseWriter, r *http.Request) error {
	st, err := s.o.Controller.Route(named(r))
	if err != nil {
		return err
	}
	return reply(w, filled(st))
}

// fleet shows the fleet that this gateway is of.
func (s *server) fleet(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Fleet == nil {
		return whittle.Errorf(whittle.NotFound, "this gateway is alone").WithHint("fleet: in the config makes one rollout of many gateways")
	}
	return reply(w, s.o.Fleet())
}

// history is the route's past in points.
func (s *server) history(w http.ResponseWriter, r *http.Request) error {
	past, err := s.o.Controller.Past(named(r))
	if err != nil {
		return err
	}
	past.Evidence, past.Traffic = orEmpty(past.Evidence), orEmpty(past.Traffic)
	for i := range past.Evidence {
		past.Evidence[i].Bounds = orEmpty(past.Evidence[i].Bounds)
	}
	return reply(w, past)
}

func (s *server) order(w http.ResponseWriter, r *http.Request) error {
	kind := rollout.Kind(r.PathValue("verb"))
	if !slices.Contains(rollout.Kinds, kind) {
		return whittle.Errorf(whittle.NotFound, "there is no verb %q", kind).WithHint("the verbs are promote, hold, resume, rollback, off, reset and approve")
	}
	var body Order
	if err := read(w, r, &body, `send {} or {"reason": "...", "force": true}`); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTime)
	defer cancel()
	name := named(r)
	err := s.o.Controller.Order(ctx, name, rollout.Order{Kind: kind, Reason: body.Reason, By: body.By, Force: body.Force, To: body.To, Gate: body.Gate, Generation: body.Generation})
	if err != nil {
		return err
	}
	return s.route(w, r)
}

func (s *server) config(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Config == nil {
		return whittle.Errorf(whittle.NotFound, "no config is shown here")
	}
	return reply(w, s.o.Config())
}

func (s *server) version(w http.ResponseWriter, _ *http.Request) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, kv := range info.Settings {
			if kv.Key == "vcs.revision" {
				revision = kv.Value
			}
		}
	}
	return reply(w, struct {
		Version  string `json:"version"`
		Revision string `json:"revision,omitempty"`
	}{s.o.Version, revision})
}

func (s *server) live(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, map[string]bool{"live": true})
}

func (s *server) ready(w http.ResponseWriter, _ *http.Request) error {
	if s.o.Ready != nil && !s.o.Ready() {
		return whittle.Errorf(whittle.Unavailable, "whittle is starting or shutting down")
	}
	return reply(w, map[string]bool{"ready": true})
}

// read takes a body: one JSON object of known fields, or nothing; hint says
// what to send. The content type is asked for because a page of another site cannot send it
// without asking the browser first.
func read(w http.ResponseWriter, r *http.Request, into any, hint string) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return whittle.Errorf(whittle.Invalid, "the content type must be application/json")
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("something follows the JSON object")
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return whittle.Errorf(whittle.ResourceExhausted, "the body is longer than %d bytes", maxBody)
	}
	if r.Context().Err() != nil {
		return whittle.Errorf(whittle.Canceled, "read the body: %w", err)
	}
	return whittle.Errorf(whittle.Invalid, "the body is not valid: %v", err).WithHint(hint)
}

// reply writes a value as JSON.
func reply(w http.ResponseWriter, v any) error { return replyWith(w, http.StatusOK, v) }

func replyWith(w http.ResponseWriter, status int, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return whittle.Errorf(whittle.Internal, "encode answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client may have gone
	return nil
}

// fail is the one place that renders an error. Who asks here operates whittle,
// so causes are shown; what is whittle's own fault is logged as well.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	code := whittle.CodeOf(err)
	if code == whittle.Internal {
		s.o.Log.Error("admin request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	p := Problem{Code: code.String(), Message: err.Error()}
	if coded, ok := errors.AsType[*whittle.Error](err); ok {
		p.Hint = coded.Hint
	}
	_ = replyWith(w, code.HTTPStatus(), p) // strings only
}

// filled gives lists and maps that are empty instead of null, so that a client
// need not distinguish the two.
func filled(s whittle.RouteStatus) whittle.RouteStatus {
	s.Verdict.Findings = orEmpty(s.Verdict.Findings)
	s.Verdict.Bounds = orEmpty(s.Verdict.Bounds)
	s.Guards = orEmpty(s.Guards)
	s.Timeline = orEmpty(s.Timeline)
	if s.Ledger.Skipped == nil {
		s.Ledger.Skipped = map[string]int64{}
	}
	return s
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
