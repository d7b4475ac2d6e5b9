// Package real takes candidates of the campaign through the built gateway: its
// own process, real sockets, a real clock and users over HTTP.
package real

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	"whittle/internal/notify"
)

// The paths under which one process is both sides, and counts.
const (
	monolithPath  = "/monolith"
	candidatePath = "/candidate"
	countsPath    = "/counts"
)

// requestHeader numbers a user's request, so that a candidate can be wrong when
// it is asked first; userHeader says whose it is.
const (
	requestHeader = "X-Proof-Request"
	userHeader    = "X-User"
)

// Counts are what a candidate did for users: for those it was asked by before
// the monolith.
type Counts struct {
	Served int `json:"served"`
	Wrong  int `json:"wrong"`
}

// services are a family's monolith and a candidate of it.
type services struct {
	family *family.Family
	table  *family.Orders
	start  time.Time

	mu     sync.Mutex // guards the following
	mutant *fault.Candidate
	ids    *rand.Rand
	busy   int
	counts Counts
	seen   map[string]bool // requests that the monolith was asked
}

// Serve is both sides of a pair on a port of loopback, until ctx ends. It says
// where it listens in a line.
func Serve(ctx context.Context, f *family.Family, m *fault.Mutation, seed uint64, stdout io.Writer) error {
	s := &services{
		family: f, table: family.NewOrders(), start: time.Now(), mutant: fault.New(m, f, rand.New(rand.NewPCG(seed, 6))),
		ids: rand.New(rand.NewPCG(seed, 4)), seen: map[string]bool{},
	}
	mux := http.NewServeMux()
	mux.Handle(monolithPath+"/", http.StripPrefix(monolithPath, http.HandlerFunc(s.monolith)))
	mux.Handle(candidatePath+"/", http.StripPrefix(candidatePath, http.HandlerFunc(s.candidate)))
	mux.HandleFunc(countsPath, s.count)
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(stdout, "listening public=%s\n", l.Addr())
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns the error
	defer stop()
	if err := server.Serve(l); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// request reads what the gateway sends, as the families have it.
func request(r *http.Request) (*whittle.Request, uint64, error) {
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(r.Body, most))
	if err != nil {
		return nil, 0, err
	}
	user, err := strconv.ParseUint(r.Header.Get(userHeader), 10, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", userHeader, err)
	}
	return &whittle.Request{Method: r.Method, Target: r.URL.RequestURI(), Host: r.Host, Header: whittle.Header(r.Header), Body: body}, user, nil
}

func (s *services) world() *family.World {
	return &family.World{Now: time.Now(), Rand: rand.New(rand.NewPCG(s.ids.Uint64(), 1)), Orders: s.table}
}

// latency is log-normal around a quarter of the family's median, so that a few
// users make enough requests.
func (s *services) latency() time.Duration {
	return time.Duration(float64(s.family.Latency) / 4 * math.Exp(0.35*s.ids.NormFloat64()))
}

func (s *services) monolith(w http.ResponseWriter, r *http.Request) {
	q, _, err := request(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.seen[r.Header.Get(requestHeader)] = true
	world, latency := s.world(), s.latency()
	s.mu.Unlock()
	a := s.family.Monolith(world, q)
	notify.Sleep(r.Context(), latency)
	respond(w, &a)
}

func (s *services) candidate(w http.ResponseWriter, r *http.Request) {
	q, user, err := request(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := s.mutated(q, user, r.Header.Get(requestHeader))
	defer func() {
		s.mu.Lock()
		s.busy--
		s.mu.Unlock()
	}()
	notify.Sleep(r.Context(), a.Latency)
	if a.Failure != whittle.NoFailure {
		panic(http.ErrAbortHandler) // the connection breaks
	}
	respond(w, &a.Response)
}

func (s *services) mutated(q *whittle.Request, user uint64, id string) fault.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.seen[id]
	a := s.mutant.Serve(&fault.Call{
		Family: s.family, World: s.world(), Request: q, User: user, First: first, Busy: s.busy, Up: time.Since(s.start),
		Right: whittle.Response{Latency: s.latency()},
	})
	s.busy++
	if first && a.OK() {
		s.counts.Served++
		if a.Wrong {
			s.counts.Wrong++
		}
	}
	return a
}

func (s *services) count(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	c := s.counts
	s.mu.Unlock()
	_ = json.NewEncoder(w).Encode(c) // whoever asked may have gone
}

func respond(w http.ResponseWriter, a *whittle.Response) {
	maps.Copy(w.Header(), http.Header(a.Header))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // whoever asked may have gone
}
