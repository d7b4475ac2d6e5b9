package campaign

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/campaign/family"
	"whittle/e2e/campaign/fault"
	"whittle/internal/notify"
)

// requestHeader numbers a user's request, so that a candidate can be wrong when
// it is asked first; userHeader says whose it is.
const (
	requestHeader = "X-Proof-Request"
	userHeader    = "X-User"
)

// services are a family's monolith and a candidate of it.
type services struct {
	family *family.Family
	table  *family.Orders
	start  time.Time

	mu            sync.Mutex // guards the following
	mutant        *fault.Candidate
	ids           *rand.Rand
	busy          int
	served, wrong int             // responses of the candidate to users: those it was asked for before the monolith
	seen          map[string]bool // requests that the monolith was asked
}

// serve starts both sides of a pair.
func serve(t *testing.T, f *family.Family, m *fault.Mutation, seed uint64) (s *services, monolith, candidate string) {
	s = &services{
		family: f, table: family.NewOrders(), start: time.Now(), mutant: fault.New(m, f, rand.New(rand.NewPCG(seed, 6))),
		ids: rand.New(rand.NewPCG(seed, 4)), seen: map[string]bool{},
	}
	one, other := httptest.NewServer(http.HandlerFunc(s.monolith)), httptest.NewServer(http.HandlerFunc(s.candidate))
	t.Cleanup(one.Close)
	t.Cleanup(other.Close)
	return s, one.URL, other.URL
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
		s.served++
		if a.Wrong {
			s.wrong++
		}
	}
	return a
}

func respond(w http.ResponseWriter, a *whittle.Response) {
	maps.Copy(w.Header(), http.Header(a.Header))
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body) // whoever asked may have gone
}
