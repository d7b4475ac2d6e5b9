package campaign

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/notify"
)

func TestMain(m *testing.M) {
	process.Main(m, func() error {
		built, err := process.Build("./cmd/whittle")
		gatewayBinary = filepath.Join(built, "whittle")
		return err
	})
}

// gatewayBinary is the gateway's binary.
var gatewayBinary string

// Traffic of a run through the gateway: requests a second at most, by so many clients, of so
// many users, for so long.
const (
	rate    = 250
	clients = 12
	people  = 2000
	long    = 45 * time.Second
)

// throughGateway are the pairs that go through the built gateway, as FAMILY MUTATION: each family
// at least once, each group of mutations, and two faithful candidates. Without PROOF_SEEDS only
// the first two do.
var throughGateway = [][2]string{
	{"profile", "wrong-key"},
	{"profile", "rounding"},
	{"profile", "null-missing"},
	{"profile", "first-100"},
	{"profile", "list-cut"},
	{"profile", "header-dropped"},
	{"money", "one-cent"},
	{"money", "first-30"},
	{"bookings", "time-zone"},
	{"bookings", "expired"},
	{"quotes", "id-constant"},
	{"quotes", "id-short"},
	{"quotes", "errors-rare"},
	{"shipments", "enum-case"},
	{"shipments", "stale-30s"},
	{"terms", "encoding"},
	{"terms", "first-10"},
	{"export", "list-twice"},
	{"login", "cookie-script"},
	{"login", "no-refusals"},
	{"graphql", "swapped-often"},
	{"graphql", "slow"},
	{"orders", "status-near"},
	{"orders", "written-twice"},
	{"orders", "first-fails"},
	{"count", "mean-low"},
	{"search", "float32"},
	{"search", "broken"},
	{"terms", ""},
	{"search", ""},
}

// alwaysNamed are how many of them are wrong so often that whittle must name them.
const alwaysNamed = 2

// TestPairsThroughTheGateway takes candidates through the built gateway: its own process, real
// sockets, a real clock and users over HTTP. A wrong one never gets beyond the first step, and
// the first two are named; a faithful one is not called DIFFERENT and not rolled back.
func TestPairsThroughTheGateway(t *testing.T) {
	proof := os.Getenv("PROOF_SEEDS") != ""
	for i, p := range throughGateway {
		if i == alwaysNamed && !proof {
			break
		}
		t.Run(p[0]+"_"+p[1], func(t *testing.T) {
			t.Parallel()
			f, m := family.Named(t, p[0]), fault.Named(t, p[1])
			r := play(t, f, m, uint64(i+1), i < alwaysNamed)
			t.Logf("%s at %v %%, %s after %d exchanges: %q; %d of %d responses to users were wrong", r.phase, r.largest.Percent(), r.verdict, r.compared, r.finding, r.wrong, r.served)
			switch {
			case m == nil && (r.verdict == whittle.Different || r.phase == whittle.PhaseRolledBack):
				t.Errorf("the faithful candidate is %s and %s: %s", r.verdict, r.phase.Words(), r.finding)
			case m != nil && r.largest > firstStep:
				t.Errorf("it got to %v %%", r.largest.Percent())
			}
		})
	}
}

// played is what became of a candidate.
type played struct {
	phase         whittle.Phase
	verdict       whittle.State
	compared      int
	largest       whittle.Share
	finding       string
	served, wrong int
}

// play takes a pair through the gateway until whittle has spoken or its time is up; until it has
// spoken if it must.
func play(t *testing.T, f *family.Family, m *fault.Mutation, seed uint64, must bool) (r played) {
	s, monolith, candidate := serve(t, f, m, seed)
	config := filepath.Join(t.TempDir(), "whittle.yaml")
	text := "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstate: whittle.db\nlog: {level: warn}\nmonolith: " + monolith + "\nroutes:\n  - " + f.Route +
		"\n    candidate: " + candidate + "\n    rollout: {hold: 1s, sticky_by: header:X-User}\n"
	fatal.If(t, os.WriteFile(config, []byte(text), 0o600))
	gateway := process.StartIn(t, filepath.Dir(config), gatewayBinary, "run", "-c", config)
	client, err := admin.Dial(gateway.Admin, "")
	fatal.If(t, err)
	defer client.Close()
	within := long
	if must {
		within = process.Patience
	}
	ctx, stop := context.WithTimeout(t.Context(), within)
	defer stop()
	u := newUsers(f, gateway.Public, seed)
	var all sync.WaitGroup
	for range clients {
		all.Go(func() { u.send(ctx) })
	}
	ended := r.follow(ctx, t, client)
	stop()
	all.Wait()
	u.client.CloseIdleConnections()
	if must && !ended {
		t.Errorf("it is not named: %+v", r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.served, r.wrong = s.served, s.wrong
	return r
}

// follow asks for the route until it is decided, and reports whether it is.
func (r *played) follow(ctx context.Context, t *testing.T, c *admin.Client) bool {
	status, err := c.Status(ctx)
	if err != nil || len(status.Routes) != 1 {
		t.Errorf("%d routes, %v", len(status.Routes), err)
		return false
	}
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		s, err := c.Route(ctx, status.Routes[0].Route)
		if err != nil && ctx.Err() == nil {
			t.Error(err)
			return false
		}
		if err == nil && r.settle(&s) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-poll.C:
		}
	}
}

// settle reads a status, and reports whether it is the last that is to come.
func (r *played) settle(s *whittle.RouteStatus) (over bool) {
	r.phase, r.verdict, r.compared = s.Phase, s.Verdict.State, s.Verdict.Compared
	for _, d := range s.Timeline {
		r.largest = max(r.largest, d.To)
	}
	for _, f := range s.Verdict.Findings {
		if f.Decided && f.Expected == "" {
			r.finding = strings.TrimSpace(string(f.Kind) + " " + f.Path)
			break
		}
	}
	if s.Phase == whittle.PhaseRolledBack && r.finding == "" {
		r.finding = s.Timeline[len(s.Timeline)-1].Reason
	}
	return s.Phase == whittle.PhaseLive || s.Phase == whittle.PhaseRolledBack || s.Verdict.State == whittle.Different && s.Share == 0
}

// users send a family's requests through the gateway, at an even rate.
type users struct {
	family *family.Family
	base   string
	client *http.Client

	mu   sync.Mutex // guards the following
	r    *rand.Rand
	zipf *rand.Zipf
	n    int
	next time.Time
}

func newUsers(f *family.Family, gateway string, seed uint64) *users {
	r := rand.New(rand.NewPCG(seed, 8))
	return &users{
		family: f, base: "http://" + gateway, r: r, zipf: rand.NewZipf(r, 1.1, 8, people-1), next: time.Now(),
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: clients},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// send is one client's requests until ctx ends.
func (u *users) send(ctx context.Context) {
	for ctx.Err() == nil {
		u.mu.Lock()
		user := u.zipf.Uint64()
		q := u.family.Request(u.r, user)
		u.n++
		id, due := u.n, u.next
		u.next = due.Add(time.Second / rate)
		u.mu.Unlock()
		notify.Sleep(ctx, time.Until(due))
		r, err := http.NewRequestWithContext(ctx, q.Method, u.base+q.Target, bytes.NewReader(q.Body))
		if err != nil {
			panic(fmt.Sprintf("a family's request: %v", err))
		}
		for name, v := range q.Header {
			r.Header[name] = v
		}
		r.Header.Set(requestHeader, strconv.Itoa(id))
		r.Header.Set(userHeader, strconv.FormatUint(user, 10))
		resp, err := u.client.Do(r)
		if err != nil {
			continue // it is the end, or a fault that the status shows
		}
		_, _ = io.Copy(io.Discard, resp.Body) // whether it is whole is the gateway's concern
		_ = resp.Body.Close()
	}
}
