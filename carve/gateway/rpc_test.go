package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"whittle"
)

// shouting is a transcoder whose RPC is upper case; it has no word for "bad".
type shouting struct{}

func (shouting) Request(r *whittle.Request) (*whittle.Request, error) {
	if strings.Contains(string(r.Body), "bad") {
		return nil, errors.New("no such word")
	}
	return &whittle.Request{
		Method: "POST", Target: "/rpc", Host: r.Host, Header: whittle.Header{"Content-Type": {"application/rpc"}},
		Body: []byte(strings.ToUpper(string(r.Body))),
	}, nil
}

func (shouting) Response(a *whittle.Response) whittle.Response {
	if string(a.Body) == "" {
		return whittle.Response{Failure: whittle.FailedMalform, Detail: "an empty message"}
	}
	return whittle.Response{Status: a.Status, Header: whittle.Header{"Content-Type": {"text/plain"}}, Body: []byte(strings.ToLower(string(a.Body)))}
}

func TestTranscodedCandidate(t *testing.T) {
	tests := []struct {
		name, body string
		share      whittle.Share
		user       string // what the user gets
		fate       string
		candidate  whittle.Response
	}{
		{"shadowed", "hello", 0, "monolith: hello", "compared", whittle.Response{Status: 200, Body: []byte("rpc: hello")}},
		{"served", "hello", whittle.All, "rpc: hello", "compared", whittle.Response{Status: 200, Body: []byte("rpc: hello")}},
		{"shadowed, untranslatable", "bad", 0, "monolith: bad", whittle.SkipUntranslated, whittle.Response{}},
		{"served, untranslatable", "bad", whittle.All, "monolith: bad", whittle.SkipUntranslated, whittle.Response{}},
		{"shadowed, answer not of the contract", "empty", 0, "monolith: empty", "failed", whittle.Response{Failure: whittle.FailedMalform}},
		{"served, answer not of the contract", "empty", whittle.All, "monolith: empty", "failed", whittle.Response{Failure: whittle.FailedMalform}},
		{"shadowed, error", "oops", 0, "monolith: oops", "compared", whittle.Response{Status: 500, Body: []byte("rpc: oops")}},
		{"served, error", "oops", whittle.All, "monolith: oops", "compared", whittle.Response{Status: 500}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			spec.Safe = true
			s := open(t, spec, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				_, _ = io.WriteString(w, "monolith: "+string(b))
			}), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				if r.URL.Path != "/rpc" || r.Header.Get("Content-Type") != "application/rpc" {
					t.Errorf("the candidate got %s as %q", r.URL.Path, r.Header.Get("Content-Type"))
				}
				switch string(b) {
				case "EMPTY":
				case "OOPS":
					w.WriteHeader(500)
					fallthrough
				default:
					_, _ = io.WriteString(w, "RPC: "+string(b))
				}
			}))
			s.g.table.Load().routes["/work"].rpc = shouting{}
			s.apply(tt.share, whittle.PhaseShift)
			if status, body := s.gets(s.sends("POST", tt.body)); status != 200 || body != tt.user {
				t.Errorf("the user got %d %q, want %q", status, body, tt.user)
			}
			l := s.rests()
			if got := map[string]int64{"compared": l.Compared, "failed": l.Failed, whittle.SkipUntranslated: l.Skipped[whittle.SkipUntranslated]}; got[tt.fate] != 1 {
				t.Fatalf("ledger %+v, want one %s", l, tt.fate)
			}
			if tt.fate == whittle.SkipUntranslated {
				return
			}
			x := s.seen()[0]
			if x.Candidate.Status != tt.candidate.Status || x.Candidate.Failure != tt.candidate.Failure || string(x.Candidate.Body) != string(tt.candidate.Body) {
				t.Errorf("the candidate's response %+v, want %+v", x.Candidate, tt.candidate)
			}
			if string(x.Request.Body) != tt.body || string(x.Monolith.Body) != "monolith: "+tt.body {
				t.Errorf("request %q, monolith %q", x.Request.Body, x.Monolith.Body)
			}
			s.holdsNothing()
		})
	}
}

// Want of whittle's own memory is no fault of the candidate's: the monolith
// answers, and nothing is held against anybody.
func TestTranscodedResponseWithoutRoom(t *testing.T) {
	for _, tt := range []struct {
		name  string
		safe  bool
		asked int64 // requests that the candidate gets
		n     int
	}{
		{"may be asked again", true, 1, 120}, // twice the bound on exposure, and more
		{"must not be asked again", false, 0, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spec := everything()
			spec.Safe, spec.Mirror.MaxBody, spec.Mirror.MaxMemory = tt.safe, 4<<10, 128<<10
			var asked atomic.Int64
			s := open(t, spec, says(200, "monolith"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				_, _ = io.WriteString(w, "RPC: "+strings.Repeat("X", 20<<10))
			}))
			rt := s.g.table.Load().routes["/work"]
			rt.rpc = shouting{}
			s.apply(whittle.All, whittle.PhaseShift)
			if status, body := s.gets(s.sends("POST", "hello")); status != 200 || !strings.HasPrefix(body, "rpc: x") {
				t.Fatalf("with room the user got %d %.20q, want the candidate's response", status, body)
			}
			s.rests() // and nothing is held any more
			before := asked.Load()
			taken := spec.Mirror.MaxMemory - 10<<10 - rt.held.Load()
			rt.held.Add(taken)
			for range tt.n {
				if status, body := s.gets(s.sends("POST", "hello")); status != 200 || body != "monolith" {
					t.Fatalf("the user got %d %.20q, want the monolith's response", status, body)
				}
			}
			rt.held.Add(-taken)
			n := int64(tt.n)
			if got := asked.Load() - before; got != tt.asked*n {
				t.Errorf("the candidate was asked %d times, want %d", got, tt.asked*n)
			}
			if l := s.rests(); tt.safe && l.Shed != n || !tt.safe && l.Skipped[whittle.SkipNotSafe] != n+1 {
				t.Errorf("ledger %+v after %d without room", l, n)
			}
			for _, o := range s.reported() {
				if o.Bad() {
					t.Errorf("held against the %v: %+v", o.Side, o)
				}
			}
			if got := rt.setting.Load().share; got != whittle.All {
				t.Errorf("share %d", got)
			}
		})
	}
}

// Many small responses fit where as many of the longest would not.
func TestTranscodedResponsesTakeTheRoomTheyNeed(t *testing.T) {
	const users = 40
	spec := everything()
	spec.Safe, spec.Mirror.MaxMemory = true, 1<<20
	var gate sync.WaitGroup
	gate.Add(users)
	s := open(t, spec, says(200, "monolith"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		gate.Done()
		gate.Wait() // all of them are under way at once
		_, _ = io.WriteString(w, "RPC: fine")
	}))
	s.g.table.Load().routes["/work"].rpc = shouting{}
	s.apply(whittle.All, whittle.PhaseShift)
	var wg sync.WaitGroup
	for range users {
		wg.Go(func() {
			if status, body := s.gets(s.sends("POST", "hello")); status != 200 || body != "rpc: fine" {
				t.Errorf("a user got %d %q", status, body)
			}
		})
	}
	wg.Wait()
}
