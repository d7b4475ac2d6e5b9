package steer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"whittle"
	"whittle/internal/fatal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a proxy that does as it is told, unless it is down, deaf or slow.
type fake struct {
	mu    sync.Mutex // guards the following
	share whittle.Share
	down  error
	blank bool          // it has restarted and knows no share until it is told one
	deaf  bool          // it takes a share and does not put it in force
	slow  time.Duration // before it takes a share
	sets  []whittle.Share
	most  whittle.Share // that was ever in force
}

func (i *fake) Set(ctx context.Context, share whittle.Share) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if slow := i.slow; slow > 0 {
		i.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(slow):
		}
		i.mu.Lock()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	i.sets = append(i.sets, share)
	if i.down == nil && !i.deaf {
		i.share, i.blank = share, false
		i.most = max(i.most, share)
	}
	return i.down
}

func (i *fake) Read(context.Context) (whittle.Share, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.blank {
		return 0, errors.New("no such key")
	}
	return i.share, i.down
}

func (i *fake) change(do func(*fake)) {
	i.mu.Lock()
	defer i.mu.Unlock()
	do(i)
}

func (i *fake) told() []whittle.Share {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.sets
}

const route = "GET /items/{id}"

// steered has two instances, which whittle has found at a share.
func steered(t *testing.T, share whittle.Share) (p *Proxies, a, b *fake) {
	t.Helper()
	p = New(func(s string) string { return s }, slog.New(slog.DiscardHandler))
	a, b = &fake{share: share}, &fake{share: share}
	l := &loop{route: route, by: "test", spec: whittle.Steer{Timeout: 5 * time.Second, Every: 10 * time.Second}}
	l.instances = []*instance{{Steerer: a, name: "a"}, {Steerer: b, name: "b"}}
	p.loops[route] = l
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	if !p.Apply(route, share) || p.Apply("GET /other", share) {
		t.Fatal("it steers the wrong route")
	}
	pass(time.Second)
	confirmed(t, p, share)
	return p, a, b
}

func pass(d time.Duration) { time.Sleep(d); synctest.Wait() }

func confirmed(t *testing.T, p *Proxies, share whittle.Share) {
	t.Helper()
	s := p.Status(route)
	if s.Share != share || s.UnderWay != "" || s.Wait != "" {
		t.Errorf("not confirmed: %+v", s)
	}
	for _, i := range s.Proxies {
		if i.Share != share || !i.Confirmed || i.Trouble != "" || i.Read.IsZero() {
			t.Errorf("not confirmed: %+v", i)
		}
	}
}

func waits(t *testing.T, p *Proxies, underWay string, words ...string) {
	t.Helper()
	s := p.Status(route)
	if s.UnderWay != underWay || s.Wait == "" {
		t.Errorf("%q is under way, and %q waited for; want %q", s.UnderWay, s.Wait, underWay)
	}
	fatal.Has(t, s.Wait, words...)
}

// TestAShareIsInForceOnceAllConfirmIt: a rise and a fall each reach every instance, and are
// under way until the last has them. One that is away does not hold up the others.
func TestAShareIsInForceOnceAllConfirmIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := steered(t, 0)
		if len(a.told()) != 1 { // to 0 at once, without a look
			t.Errorf("told %v at the beginning", a.told())
		}
		p.Apply(route, 500)
		pass(0)
		confirmed(t, p, 500)

		b.change(func(i *fake) { i.down = errors.New("connection refused") })
		p.Apply(route, 2500)
		pass(20 * time.Second)
		waits(t, p, "rise to 25 %", "1 of 2", "b: connection refused")
		p.Apply(route, 0)
		pass(20 * time.Second)
		waits(t, p, "fall to 0 %", "1 of 2")
		fatal.Same(t, a.share, 0, "the other one has")
		b.change(func(i *fake) { i.down = nil })
		pass(6 * time.Second)
		confirmed(t, p, 0)
	})
}

// TestAFallOvertakesARise that an instance is slow to take.
func TestAFallOvertakesARise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, _ := steered(t, 0)
		a.change(func(i *fake) { i.slow = 3 * time.Second })
		p.Apply(route, 500)
		pass(time.Second)
		waits(t, p, "rise to 5 %")
		a.change(func(i *fake) { i.slow = 0 })
		p.Apply(route, 0)
		pass(100 * time.Millisecond)
		confirmed(t, p, 0)
		fatal.Same(t, a.most, 0, "it had")
	})
}

// TestWhatIsTakenMustBeInForce: an instance that says yes and does nothing has not confirmed.
func TestWhatIsTakenMustBeInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, _ := steered(t, 0)
		a.change(func(i *fake) { i.deaf = true })
		p.Apply(route, 500)
		pass(time.Minute)
		waits(t, p, "rise to 5 %", "a: it still has 0 %")
		if n := len(a.told()); n > 15 {
			t.Errorf("told %d times in a minute", n)
		}
	})
}

// TestWhatChangesAtAProxyIsSaid: fewer users are left as they are, until a rise; more are
// taken back.
func TestWhatChangesAtAProxyIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := steered(t, 500)
		a.change(func(i *fake) { i.share = 0 })
		pass(11 * time.Second)
		waits(t, p, "", "1 of 2 proxies have 5 %", "a: it has 0 %, which whittle has not set")
		p.Apply(route, 500) // as an order that moves nobody does
		pass(time.Minute)
		if len(a.told()) > 0 || a.share != 0 {
			t.Errorf("it was told %v", a.told())
		}
		p.Apply(route, 2500)
		pass(0)
		confirmed(t, p, 2500)

		b.change(func(i *fake) { i.share = 9000 })
		pass(11 * time.Second)
		confirmed(t, p, 2500)
		if note := p.Status(route).Proxies[1].Note; !strings.HasPrefix(note, "it had 90 % at ") {
			t.Errorf("said %q", note)
		}
		a.change(func(i *fake) { i.share = 100 })
		p.Apply(route, 500) // a fall raises nobody
		pass(15 * time.Second)
		waits(t, p, "fall to 5 %", "a: it has 1 %")
		fatal.Same(t, b.share, 500, "b has")
	})
}

// TestABeginningRaisesNobody: after a restart of whittle what is there counts.
func TestABeginningRaisesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := steered(t, 500)
		p.Put([]whittle.Route{{Name: route}}) // no proxies any more
		if p.Status(route) != nil || p.Apply(route, 0) {
			t.Error("it is steered still")
		}
		a.change(func(i *fake) { i.share = 0 })
		b.change(func(i *fake) { i.share = 2500 })
		p.mu.Lock()
		p.loops[route] = &loop{route: route, spec: whittle.Steer{Timeout: time.Second, Every: time.Second}}
		p.loops[route].instances = []*instance{{Steerer: a, name: "a"}, {Steerer: b, name: "b"}}
		p.mu.Unlock()
		p.Apply(route, 500)
		pass(3 * time.Second)
		waits(t, p, "check of 5 %", "a: it has 0 %")
		if a.share != 0 || b.share != 500 {
			t.Errorf("they have %d and %d", a.share, b.share)
		}
	})
}

// TestARestartThatForgets: an instance that knows no share any more is told 0 where the share
// is 0, since that raises nobody; at any other share it is said.
func TestARestartThatForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := steered(t, 0)
		a.change(func(i *fake) { i.blank = true })
		pass(11 * time.Second)
		confirmed(t, p, 0)
		p.Apply(route, 500)
		pass(0)
		confirmed(t, p, 500)
		b.change(func(i *fake) { i.blank = true })
		pass(11 * time.Second)
		waits(t, p, "", "b: no such key")
	})
}

// TestCommand: it gets the share, its end with 0 confirms, and it is bounded with its children.
func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "share")
	c := &command{route: route, set: []string{"sh", "-c", `echo "$WHITTLE_ROUTE $WHITTLE_SHARE $WHITTLE_SHARE_BP" > "$0"`, file}}
	fatal.If(t, c.Set(t.Context(), 25))
	if b, err := os.ReadFile(file); err != nil || string(b) != route+" 0.25 25\n" {
		t.Errorf("it had %q, %v", b, err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, errUnread) {
		t.Errorf("read: %v", err)
	}
	c.read = []string{"echo", "0.25%"}
	if got, err := c.Read(t.Context()); got != 25 || err != nil {
		t.Errorf("read %d, %v", got, err)
	}
	for _, bad := range [][]string{{"echo", "half"}, {"echo", "NaN"}, {"false"}, {"/nowhere/no"}} {
		c.read = bad
		if got, err := c.Read(t.Context()); err == nil {
			t.Errorf("%q gives %d", bad, got)
		}
	}
	c.set = []string{"sh", "-c", "echo it was refused >&2; exit 3"}
	if err := c.Set(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "it was refused") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	c.set = []string{"sh", "-c", "sleep 1000 & sleep 1000"}
	if err := c.Set(ctx, 0); err == nil || !strings.Contains(err.Error(), "has not ended in time") {
		t.Errorf("got %v", err)
	}
}

// api is what a Kubernetes API does with one HTTPRoute: it checks who asks, applies a patch to the
// version that it was made for, and a Gateway takes the route up.
type api struct {
	t     *testing.T
	mu    sync.Mutex // guards the following
	route map[string]any
	slow  bool // the Gateway is behind
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path != "/apis/gateway.networking.k8s.io/v1/namespaces/shop/httproutes/shop" || r.Header.Get("Authorization") != "Bearer a-token" {
		a.t.Errorf("asked %s by %q", r.URL, r.Header.Get("Authorization"))
	}
	meta := a.route["metadata"].(map[string]any)
	if r.Method == http.MethodPatch {
		b, _ := io.ReadAll(r.Body)
		var patch []struct {
			Op, Path string
			Value    any
		}
		if err := json.Unmarshal(b, &patch); err != nil || r.Header.Get("Content-Type") != "application/json-patch+json" {
			a.t.Errorf("%s: %v", b, err)
		}
		if patch[0].Op != "test" || patch[0].Path != "/metadata/resourceVersion" || patch[0].Value != meta["resourceVersion"] {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		for _, p := range patch[1:] {
			var at any = a.route
			keys := strings.Split(p.Path[1:], "/")
			for _, key := range keys[:len(keys)-1] {
				if list, is := at.([]any); is {
					n, _ := strconv.Atoi(key)
					at = list[n]
				} else {
					at = at.(map[string]any)[key]
				}
			}
			at.(map[string]any)[keys[len(keys)-1]] = p.Value
		}
		meta["generation"] = meta["generation"].(float64) + 1
		meta["resourceVersion"] = fmt.Sprint(meta["generation"])
	}
	if !a.slow {
		a.route["status"] = map[string]any{"parents": []any{map[string]any{"conditions": []any{
			map[string]any{"type": "Accepted", "status": "True", "observedGeneration": meta["generation"]},
		}}}}
	}
	_ = json.NewEncoder(w).Encode(a.route)
}

const httpRouteJSON = `{"metadata": {"generation": 1, "resourceVersion": "1"}, "spec": {"rules": [
	{"backendRefs": [{"name": "other"}]},
	{"backendRefs": [{"name": "monolith", "port": 3000}, {"name": "candidate", "port": 3001, "weight": 0}]},
	{"backendRefs": [{"name": "candidate", "weight": 0}, {"name": "monolith", "weight": 7}]}]}}`

// TestHTTPRoute holds the requests to the Kubernetes API, by a server that checks them.
func TestHTTPRoute(t *testing.T) {
	a := &api{t: t}
	fatal.If(t, json.Unmarshal([]byte(httpRouteJSON), &a.route))
	server := httptest.NewServer(a)
	defer server.Close()
	token := filepath.Join(t.TempDir(), "token")
	fatal.If(t, os.WriteFile(token, []byte("a-token\n"), 0o600))
	r := &httpRoute{whittle.SteerHTTPRoute{Namespace: "shop", Name: "shop", Candidate: "candidate", Monolith: "monolith", Server: server.URL, Token: token}}
	reads := func(want whittle.Share, trouble string) {
		t.Helper()
		got, err := r.Read(t.Context())
		if trouble == "" && (got != want || err != nil) || trouble != "" && (err == nil || !strings.Contains(err.Error(), trouble)) {
			t.Errorf("read %d, %v; want %d, %q", got, err, want, trouble)
		}
	}
	reads(0, "")
	for _, share := range []whittle.Share{500, whittle.All, 0, 2500} {
		fatal.If(t, r.Set(t.Context(), share))
		reads(share, "")
	}
	a.slow = true
	fatal.If(t, r.Set(t.Context(), 100))
	reads(0, "a Gateway has an older one")
	a.slow = false
	rules := a.route["spec"].(map[string]any)["rules"].([]any)
	rules[2].(map[string]any)["sessionPersistence"] = map[string]any{"sessionName": "s"}
	if err := r.Set(t.Context(), 500); err == nil || !strings.Contains(err.Error(), "GEP-1619") {
		t.Errorf("with sessions that stay where they are: %v", err)
	}
	if err := r.Set(t.Context(), 0); err != nil {
		t.Errorf("a fall with sessions that stay where they are: %v", err)
	}
	rules[2].(map[string]any)["backendRefs"] = []any{map[string]any{"name": "candidate", "weight": 1}, map[string]any{"name": "monolith", "weight": 1}}
	reads(0, "different weights: 0 % and 50 %")
	r.Candidate = "nobody"
	reads(0, "no rule of it has the backends")
}
