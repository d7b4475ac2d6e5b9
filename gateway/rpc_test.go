package gateway

import (
	"errors"
	"io"
	"net/http"
	"strings"
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

func (shouting) Answer(a *whittle.Answer) whittle.Answer {
	if string(a.Body) == "" {
		return whittle.Answer{Failure: whittle.FailedMalform, Detail: "an empty message"}
	}
	return whittle.Answer{Status: a.Status, Header: whittle.Header{"Content-Type": {"text/plain"}}, Body: []byte(strings.ToLower(string(a.Body)))}
}

func TestTranscodedCandidate(t *testing.T) {
	tests := []struct {
		name, body string
		share      whittle.Share
		user       string // what the user gets
		fate       string
		candidate  whittle.Answer
	}{
		{"shadowed", "hello", 0, "monolith: hello", "compared", whittle.Answer{Status: 200, Body: []byte("rpc: hello")}},
		{"served", "hello", whittle.All, "rpc: hello", "compared", whittle.Answer{Status: 200, Body: []byte("rpc: hello")}},
		{"shadowed, untranslatable", "bad", 0, "monolith: bad", whittle.SkipUntranslated, whittle.Answer{}},
		{"served, untranslatable", "bad", whittle.All, "monolith: bad", whittle.SkipUntranslated, whittle.Answer{}},
		{"shadowed, answer not of the contract", "empty", 0, "monolith: empty", "failed", whittle.Answer{Failure: whittle.FailedMalform}},
		{"served, answer not of the contract", "empty", whittle.All, "monolith: empty", "failed", whittle.Answer{Failure: whittle.FailedMalform}},
		{"shadowed, error", "oops", 0, "monolith: oops", "compared", whittle.Answer{Status: 500, Body: []byte("rpc: oops")}},
		{"served, error", "oops", whittle.All, "monolith: oops", "compared", whittle.Answer{Status: 500}},
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
			s.g.Apply("/work", tt.share, whittle.PhaseShift)
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
				t.Errorf("the candidate's answer %+v, want %+v", x.Candidate, tt.candidate)
			}
			if string(x.Request.Body) != tt.body || string(x.Monolith.Body) != "monolith: "+tt.body {
				t.Errorf("request %q, monolith %q", x.Request.Body, x.Monolith.Body)
			}
			if n := s.g.table.Load().routes["/work"].held.Load(); n != 0 {
				t.Errorf("%d bytes still reserved", n)
			}
		})
	}
}
