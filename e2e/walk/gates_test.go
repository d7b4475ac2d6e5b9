package walk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"whittle"
	"whittle/carve/rollout"
	"whittle/internal/fatal"
)

// pipeline is a team's server: a gate, and a receiver of notifications.
type pipeline struct {
	*httptest.Server
	mu     sync.Mutex // guards the following
	status int
	asked  []string
	heard  []string
	chat   []string
	bad    []string
}

const hookKey = "0123456789abcdef0123456789abcdef"

func newPipeline(t *testing.T) *pipeline {
	p := &pipeline{status: http.StatusServiceUnavailable}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		stamp, sum, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("X-Whittle-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte(hookKey))
		_, _ = io.WriteString(mac, stamp+"."+string(b))
		if hex.EncodeToString(mac.Sum(nil)) != sum {
			p.bad = append(p.bad, r.URL.Path)
		}
		var m struct{ Event, Text, Gate, Before string }
		if err := json.Unmarshal(b, &m); err != nil {
			p.bad = append(p.bad, string(b))
		}
		switch r.URL.Path {
		case "/gate":
			p.asked = append(p.asked, m.Gate+" before "+m.Before)
			w.WriteHeader(p.status)
			_, _ = io.WriteString(w, "tests are running, says bob@example.com")
		case "/hook":
			p.heard = append(p.heard, m.Event)
		case "/chat/" + hookSecret:
			p.chat = append(p.chat, m.Text)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

const hookSecret = "T0B0SECRET"

func (p *pipeline) respond(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status = status
}

func (p *pipeline) has(list *[]string, text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(strings.Join(*list, "\n"), text)
}

// TestGates takes a rollout through a gate by hand and one by webhook, over kills, and
// lets a receiver and a chat know. A rollback waits for neither.
func TestGates(t *testing.T) {
	p := newPipeline(t)
	candidate := newFake(t)
	s := setting{
		Monolith: newFake(t).address(), Candidate: candidate.address(), Plain: true,
		Compare: "{kind: statistical, value: number in the body, per: request.times, confidence: 99.99%, margin: {mean: 5%, spread: 2x, distribution: 0.5}, min_compared: 50}",
		More: fmt.Sprintf(`
notify:
  - {name: log, url: %[1]s/hook, key_env: HOOK_KEY}
  - {name: chat, url_env: CHAT_URL, format: slack, key_env: HOOK_KEY, events: [rise, rollback, trip, gate]}
`, p.URL),
	}
	s.Rollout = fmt.Sprintf(`
      steps: [50, 100]
      hold: 10ms
      soak: 0s
      harm: off
      min_requests: 1
      sticky_by: header:X-User
      gates:
        - {name: board, confirm: manual, before: [first]}
        - {name: ci, url: %s/gate, key_env: HOOK_KEY, before: [first, step], every: 1s}`, p.URL)
	t.Setenv("HOOK_KEY", hookKey)
	t.Setenv("CHAT_URL", p.URL+"/chat/"+hookSecret)
	g := open(t, s)
	said := func() string { return g.Said() }
	c := gather(g.Public, 8, small)
	r := g.await(t, "the board's approval to be all that is waited for", func(r *whittle.RouteStatus) bool {
		return r.Next == "shadow → 50 %: needs the approval of gate board; waiting for gate ci, which has not responded yet." ||
			strings.HasPrefix(r.Next, "shadow → 50 %: needs the approval of gate board; waiting for gate ci since ")
	})
	if len(r.Gates) != 2 || !r.Gates[0].ByHand || r.Gates[0].Open {
		t.Errorf("%+v", r.Gates)
	}
	_, err := g.client.Order(t.Context(), g.name, rollout.Order{Kind: rollout.Approve, By: "ann", Reason: "board of Monday"})
	fatal.If(t, err)
	c.home()
	all := said()
	g.Kill()
	g.run(t)
	c = gather(g.Public, 8, small)
	r = g.await(t, "the other gate's word", func(r *whittle.RouteStatus) bool {
		return strings.HasPrefix(r.Next, "shadow → 50 %: waiting for gate ci since ") && strings.Contains(r.Next, "last response 503")
	})
	if !r.Gates[0].Open || r.Gates[1].Open || r.Gates[1].Asked == 0 || r.Share != 0 || strings.Contains(r.Next, "bob@") {
		t.Errorf("after a kill: %q, %+v", r.Next, r.Gates)
	}
	p.respond(http.StatusOK)
	g.await(t, "all users on the candidate", func(r *whittle.RouteStatus) bool { return r.Share == whittle.All })
	if !p.has(&p.asked, "ci before first") || !p.has(&p.asked, "ci before step") {
		t.Errorf("asked %q", p.asked)
	}
	p.respond(http.StatusServiceUnavailable)
	candidate.broken.Store(true)
	g.await(t, "a rollback", func(r *whittle.RouteStatus) bool { return r.Phase == whittle.PhaseRolledBack })
	c.home()
	c.content(t)
	g.Signal(t, syscall.SIGTERM)
	if err := g.Wait(); err != nil {
		t.Errorf("the end: %v", err)
	}
	for _, want := range []string{"verdict", "gate", "rise", "order"} {
		if !p.has(&p.heard, want) {
			t.Errorf("%q was not sent: %q", want, p.heard)
		}
	}
	if !p.has(&p.chat, "share rises 0 % → 50 %") || !p.has(&p.chat, "100 % → 0 %") || p.has(&p.chat, "order") {
		t.Errorf("chat %q", p.chat)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bad) > 0 {
		t.Errorf("not signed, or not JSON: %q", p.bad)
	}
	if all += said(); strings.Contains(all, hookSecret) {
		t.Errorf("the secret URL is in the log:\n%s", all)
	}
}
