package admin

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"whittle"
)

// Role is what a caller may do.
type Role string

// The roles.
const (
	Nobody   Role = ""
	Viewer   Role = "viewer"   // may look
	Operator Role = "operator" // may also order
)

// Session is the response to GET /api/v1/session.
type Session struct {
	Role Role `json:"role"`
	// NeedsToken says that callers without one are Nobody.
	NeedsToken bool `json:"needs_token"`
}

const (
	cookieName = "whittle_session"
	// sessionTime is how long a browser stays logged in.
	sessionTime = 12 * time.Hour
	// maxSessions bounds the browsers logged in; the one that ends first makes
	// room.
	maxSessions = 1000
	sessionKey  = 32 // bytes
)

// sessions are the browsers that showed a token. They are gone with the
// process, and whoever was logged in shows the token again.
type sessions struct {
	mu   sync.Mutex // guards the following
	open map[[sha256.Size]byte]session
}

type session struct {
	role Role
	ends time.Time
}

// begin makes a session and gives its key, of which only a digest is kept.
func (s *sessions) begin(role Role, now time.Time) string {
	raw := make([]byte, sessionKey)
	_, _ = rand.Read(raw) // never fails
	key := base64.RawURLEncoding.EncodeToString(raw)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[[sha256.Size]byte]session{}
	}
	var first [sha256.Size]byte
	soonest := now.Add(2 * sessionTime)
	for k, one := range s.open {
		if !one.ends.After(now) {
			delete(s.open, k)
		} else if one.ends.Before(soonest) {
			first, soonest = k, one.ends
		}
	}
	if len(s.open) >= maxSessions {
		delete(s.open, first)
	}
	s.open[sha256.Sum256([]byte(key))] = session{role, now.Add(sessionTime)}
	return key
}

func (s *sessions) role(key string, now time.Time) Role {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.open[sha256.Sum256([]byte(key))]; ok && one.ends.After(now) {
		return one.role
	}
	return Nobody
}

func (s *sessions) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, sha256.Sum256([]byte(key)))
}

// tokens are the digests of what callers may show; nil where there is none.
type tokens struct{ operator, viewer *[sha256.Size]byte }

func digest(token string) *[sha256.Size]byte {
	if token == "" {
		return nil
	}
	sum := sha256.Sum256([]byte(token))
	return &sum
}

// role compares digests, so that neither length nor content shows in time.
func (t *tokens) role(token string) Role {
	if len(token) > maxToken {
		return Nobody
	}
	operator, viewer := matches(token, t.operator), matches(token, t.viewer)
	switch {
	case operator:
		return Operator
	case viewer:
		return Viewer
	}
	return Nobody
}

// matches reports whether a token has a digest; nil: it has not.
func matches(token string, d *[sha256.Size]byte) bool {
	sum := sha256.Sum256([]byte(token))
	return d != nil && subtle.ConstantTimeCompare(sum[:], d[:]) == 1
}

// guesses bounds the responses to wrong tokens, which keeps a stuck caller
// cheap. It is no defence: a right token is always heard, so that nobody can
// keep the operators out, and the config demands one that is not found.
func guesses() *rate.Limiter { return rate.NewLimiter(5, 20) }

// roleOf is what a request's token or session lets it do.
func (s *server) roleOf(r *http.Request) Role {
	if s.tokens.operator == nil {
		return Operator
	}
	if scheme, given, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return s.tokens.role(strings.TrimSpace(given))
	}
	if c, err := r.Cookie(cookieName); err == nil && len(c.Value) <= maxToken {
		return s.sessions.role(c.Value, time.Now())
	}
	return Nobody
}

func (s *server) session(w http.ResponseWriter, r *http.Request) error {
	return reply(w, Session{Role: s.roleOf(r), NeedsToken: s.tokens.operator != nil})
}

// login takes a token and gives a cookie that no script can read and no other
// site can make the browser send.
func (s *server) login(w http.ResponseWriter, r *http.Request) error {
	var shown struct {
		Token string `json:"token"`
	}
	if err := read(w, r, &shown, `send {"token": "..."}`); err != nil {
		return err
	}
	role := Operator
	if s.tokens.operator != nil {
		role = s.tokens.role(shown.Token)
	}
	if role == Nobody {
		if !s.wrong.Allow() {
			return whittle.Errorf(whittle.ResourceExhausted, "too many wrong tokens").WithHint("wait a few seconds")
		}
		return whittle.Errorf(whittle.Unauthenticated, "the token is wrong").
			WithHint("it is that of token_file or viewer_token_file under admin: in the gateway's config")
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: s.sessions.begin(role, time.Now()), Path: "/",
		MaxAge: int(sessionTime.Seconds()), HttpOnly: true, SameSite: http.SameSiteStrictMode,
		// Without TLS a browser would not send a secure one back; whoever puts
		// TLS in front says so.
		Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	})
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) error {
	if c, err := r.Cookie(cookieName); err == nil {
		s.sessions.end(c.Value)
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
	return nil
}
