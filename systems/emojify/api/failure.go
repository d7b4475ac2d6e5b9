package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"

	"whittle"
)

// words is what a client reads where a coded error has no message of its own:
// its cause is for the log.
var words = map[whittle.Code]string{
	whittle.Canceled:         "the request was cancelled",
	whittle.DeadlineExceeded: "it took too long",
	whittle.Unavailable:      "something that is needed for it cannot be reached",
	whittle.PermissionDenied: "that is not allowed",
	whittle.Invalid:          "that cannot be read",
}

// public returns what a client may know of err.
func public(err error) (whittle.Code, string) { return whittle.Public(err, words) }

// failure is the body of every response that is an error.
type failure struct {
	Code  string `json:"code"`
	Error string `json:"error"`
}

// busy is the error of a full queue: the same request may be taken later.
func busy(format string, args ...any) *whittle.Error {
	return whittle.Errorf(whittle.Unavailable, format, args...).WithHint("try again in a moment")
}

// handler is an http.Handler that leaves its errors to one place.
type handler func(w http.ResponseWriter, r *http.Request) error

func (a *API) handled(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil {
			return
		}
		code, text := public(err)
		a.log.Log(r.Context(), levelOf(code), "responded with an error", "route", r.Pattern, "code", code.String(), "err", err)
		status := code.HTTPStatus()
		if s, ok := errors.AsType[*httpError](err); ok {
			status = s.status
		}
		if status == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		writeJSON(w, status, failure{code.String(), text})
	})
}

// httpError has a status that no code means.
type httpError struct{ status int }

func (e *httpError) Error() string { return http.StatusText(e.status) }

func levelOf(c whittle.Code) slog.Level {
	if c == whittle.Internal {
		return slog.LevelError
	}
	return slog.LevelDebug
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client is gone
}
