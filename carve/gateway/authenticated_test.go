package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"whittle"
)

// TestAuthenticatedConnectionsAreNotShared: a monolith that takes a connection for its
// first user's, as NTLM has it, never takes one user for another, by whichever way the
// requests go, mirrored ones too.
func TestAuthenticatedConnectionsAreNotShared(t *testing.T) {
	for _, scheme := range []string{"NTLM", "negotiate"} {
		for _, body := range []string{"", strings.Repeat("x", 128<<10)} {
			var mu sync.Mutex
			users := map[string]string{} // by connection
			says := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				mu.Lock()
				defer mu.Unlock()
				connection := fmt.Sprint(r.RemoteAddr, r.Context().Value(http.LocalAddrContextKey)) // monolith and candidate may see one port
				if a := r.Header.Get("Authorization"); a != "" {
					users[connection] = a
				}
				_, _ = io.WriteString(w, users[connection])
			})
			c := httptest.NewServer(says)
			t.Cleanup(c.Close)
			spec := everything()
			spec.Safe, spec.Mirror.RepeatEvery = true, 1
			candidate := upstreamAt(c.URL)
			spec.Candidate = &candidate
			s := open(t, spec, says, nil)
			for _, share := range []whittle.Share{0, whittle.All} {
				s.apply(share, whittle.PhaseShift)
				for _, a := range []string{scheme + " alice", "", scheme + " bob", ""} {
					r := s.sends(http.MethodPost, body, "X-User", "u")
					if a != "" {
						r.Header.Set("Authorization", a)
					}
					if status, got := s.gets(r); status != http.StatusOK || got != a {
						t.Errorf("%s with %d bytes, share %d: %q was taken for %q", scheme, len(body), share, a, got)
					}
					s.rests()
				}
			}
		}
	}
}
