package replay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/redact"
)

// TestAnArchiveIsNotShown: what a HAR file has of secrets is in no report,
// though it is what is sent and compared.
func TestAnArchiveIsNotShown(t *testing.T) {
	show, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	sent := make(chan string, 1)
	url := serve(t, func(r *http.Request) string {
		select {
		case sent <- r.Header.Get("Authorization"):
		default:
		}
		return `{"say":"no","mail":"ann@shop.example","pin":77}`
	})
	log := made{40, func(i int) *capture.Entry {
		e := get(i, "/to/bob@shop.example?token=s3cret&u0=carl@shop.example&dora@shop.example", `{"say":"yes","mail":"bob@shop.example","pin":66}`)
		e.Request.Header = whittle.Header{"Authorization": {"Bearer s3cret"}, "X-Mine": {"1"}, "Content-Type": {"application/x-www-form-urlencoded"}}
		e.Request.Body = fmt.Appendf(nil, `{"password":"s3cret%d"}`, i) // as curl -d says
		return e
	}}
	r := run(t, log, Options{Against: url, Show: show})
	if r.Differing == 0 || <-sent != "Bearer s3cret" {
		t.Errorf("%d differ", r.Differing)
	}
	all := fmt.Sprintf("%+v %+v", r.Routes, r.Shapes)
	for _, secret := range []string{"s3cret", "@shop", `"pin":66`} {
		if strings.Contains(all, secret) {
			t.Errorf("%s is shown", secret)
		}
	}
	if !strings.Contains(all, "yes") {
		t.Error("nothing is shown")
	}
}

// TestATokenIsNoCredentialWhereverItStands: a login with a token for a password
// is denied, which says nothing of the candidate.
func TestATokenIsNoCredentialWhereverItStands(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer srv.Close()
	for name, change := range map[string]func(*whittle.Request){
		"header": func(q *whittle.Request) { q.Header = whittle.Header{"Private-Token": {tokenMark + "0123456789ab"}} },
		"query":  func(q *whittle.Request) { q.Target += "?api_key=" + tokenMark + "0123456789ab" },
	} {
		log := made{5, func(i int) *capture.Entry {
			e := get(i, "/a", `{"a":1}`)
			change(&e.Request)
			return e
		}}
		r := run(t, log, Options{Against: srv.URL})
		if r.Ledger.Skipped[skipRedacted] != 5 || r.Verdict == whittle.Different {
			t.Errorf("%s: %s, %v", name, r.Summary, r.Ledger.Skipped)
		}
	}
}
