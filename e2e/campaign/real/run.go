package real

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"whittle"
	"whittle/bench/server"
	"whittle/carve/admin"
	"whittle/e2e/campaign/engine"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	"whittle/e2e/campaign/sum"
	"whittle/internal/notify"
)

// ServeArg is the first argument of a binary that is to be the two sides: family,
// mutation ("" faithful) and seed follow.
const ServeArg = "serve"

// Settings of a run through the gateway.
type Settings struct {
	// Whittle is the binary.
	Whittle string
	// Rate is requests a second, at most; Clients send them.
	Rate    float64
	Clients int
	Users   int
	// Long is how long a run may take.
	Long time.Duration
}

// Defaults are those of the campaign.
func Defaults() Settings {
	return Settings{Whittle: "bin/whittle", Rate: 250, Clients: 12, Users: 2000, Long: 45 * time.Second}
}

// route is what differs from the shipped defaults: time is short here.
const route = "rollout: {hold: 1s, sticky_by: header:X-User}"

// Run takes a pair through the gateway until whittle has spoken or time is up. A
// nil mutation is a faithful candidate.
func Run(ctx context.Context, f *family.Family, m *fault.Mutation, seed uint64, s Settings) (sum.Real, error) {
	out := sum.Real{Family: f.Name}
	if m != nil {
		out.Mutation = m.Name
	}
	dir, err := os.MkdirTemp("", "whittle-proof-")
	if err != nil {
		return out, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sides, err := server.Start(ctx, nil, server.Self(), ServeArg, f.Name, out.Mutation, strconv.FormatUint(seed, 10))
	if err != nil {
		return out, err
	}
	defer sides.Kill()
	config := filepath.Join(dir, "whittle.yaml")
	if err := os.WriteFile(config, []byte(configOf(f, sides.Addr)), 0o600); err != nil {
		return out, err
	}
	gateway, err := server.Start(ctx, nil, s.Whittle, "run", "-c", config)
	if err != nil {
		return out, err
	}
	defer gateway.Kill()
	client, err := admin.Dial(gateway.Admin, "")
	if err != nil {
		return out, err
	}
	defer client.Close()
	users, stop := context.WithTimeout(ctx, s.Long)
	defer stop()
	u := newUsers(f, gateway.Addr, seed, s)
	var wg sync.WaitGroup
	for range s.Clients {
		wg.Go(func() { u.send(users) })
	}
	err = follow(users, client, &out)
	stop()
	wg.Wait()
	out.Requests = u.sent()
	if err != nil {
		return out, fmt.Errorf("run %s, %s through the gateway: %w", f.Name, out.Mutation, err)
	}
	return out, counted(ctx, sides.Addr, &out)
}

func configOf(f *family.Family, sides string) string {
	return "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\nstate: whittle.db\nlog: {level: error}\n" +
		"monolith: http://" + sides + monolithPath + "\nroutes:\n  - " + f.Route +
		"\n    candidate: {url: \"http://" + sides + candidatePath + "\"}\n    " + route + "\n"
}

// follow asks for the route until it is decided.
func follow(ctx context.Context, c *admin.Client, out *sum.Real) error {
	status, err := c.Status(ctx)
	if err != nil {
		return err
	}
	if len(status.Routes) != 1 {
		return errors.New("the gateway does not have the one route")
	}
	name := status.Routes[0].Route
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		s, err := c.Route(ctx, name)
		if err == nil {
			settle(&s, out)
		} else if ctx.Err() == nil {
			return err
		}
		if out.End != engine.Waiting {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-poll.C:
		}
	}
}

// settle reads a status.
func settle(s *whittle.RouteStatus, out *sum.Real) {
	out.Compared, out.End = s.Verdict.Compared, engine.Waiting
	for _, d := range s.Timeline {
		out.Largest = max(out.Largest, int(d.To))
	}
	switch {
	case s.Phase == whittle.PhaseLive:
		out.End = engine.Live
	case s.Phase == whittle.PhaseRolledBack:
		out.End = engine.RolledBack
		out.Finding = brief(s.Timeline[len(s.Timeline)-1].Reason)
	case s.Verdict.State == whittle.Different && s.Share == 0:
		out.End = engine.Refused
	}
	for _, f := range s.Verdict.Findings {
		if f.Decided && f.Expected == "" {
			out.Finding = strings.TrimSpace(string(f.Kind) + " " + f.Path)
			break
		}
	}
}

// brief is a reason up to its first stop.
func brief(reason string) string {
	head, _, _ := strings.Cut(reason, ":")
	return strings.TrimSuffix(head, ".")
}

func counted(ctx context.Context, sides string, out *sum.Real) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+sides+countsPath, http.NoBody)
	if err != nil {
		return err
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	var c Counts
	err = json.NewDecoder(io.LimitReader(a.Body, 1<<16)).Decode(&c)
	out.Served, out.Wrong = c.Served, c.Wrong
	return err
}

// users send a family's requests through the gateway, at an even rate.
type users struct {
	s      Settings
	family *family.Family
	base   string
	client *http.Client

	mu   sync.Mutex // guards the following
	r    *rand.Rand
	zipf *rand.Zipf
	n    int
	next time.Time
}

func newUsers(f *family.Family, gateway string, seed uint64, s Settings) *users {
	r := rand.New(rand.NewPCG(seed, 8))
	return &users{
		s: s, family: f, base: "http://" + gateway, r: r, zipf: rand.NewZipf(r, 1.1, 8, uint64(s.Users-1)), next: time.Now(),
		client: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: s.Clients},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Timeout:       20 * time.Second,
		},
	}
}

func (u *users) sent() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.n
}

// send is one client's requests until ctx ends.
func (u *users) send(ctx context.Context) {
	for ctx.Err() == nil {
		u.mu.Lock()
		user := u.zipf.Uint64()
		q := u.family.Request(u.r, user)
		u.n++
		id := u.n
		due := u.next
		u.next = due.Add(time.Duration(float64(time.Second) / u.s.Rate))
		u.mu.Unlock()
		notify.Sleep(ctx, time.Until(due))
		r, err := http.NewRequestWithContext(ctx, q.Method, u.base+q.Target, bytes.NewReader(q.Body))
		if err != nil {
			return
		}
		for name, v := range q.Header {
			r.Header[name] = v
		}
		r.Header.Set(requestHeader, strconv.Itoa(id))
		r.Header.Set(userHeader, strconv.FormatUint(user, 10))
		a, err := u.client.Do(r)
		if err != nil {
			continue // it is the end, or a fault that the status shows
		}
		_, _ = io.Copy(io.Discard, a.Body) // whether it is whole is the gateway's concern
		_ = a.Body.Close()
	}
}
