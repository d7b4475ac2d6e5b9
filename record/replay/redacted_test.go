package replay

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
	"whittle/record/capture"
	"whittle/record/redact"
)

// TestTokensAreComparedAsTheirSecrets replays a redacted log with its key, with
// another, and without one.
func TestTokensAreComparedAsTheirSecrets(t *testing.T) {
	key := redact.NewKey()
	redactor := func(key []byte) *redact.Redactor {
		r, err := redact.New(redact.Rules{}, key)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	recorder := redactor(key)
	person := func(i int) string { return fmt.Sprintf(`{"i":%d,"email":"user%d@shop.example"}`, i, i) }
	log := made{400, func(i int) *capture.Entry {
		e := get(i, fmt.Sprintf("/p?i=%d", i), person(i))
		recorder.Request(&e.Request)
		recorder.Response(&e.Response)
		return e
	}}
	if e := log.at(3); strings.Contains(string(e.Response.Body), "@") {
		t.Fatalf("the log is not redacted: %s", e.Response.Body)
	}
	same := func(r *http.Request) string {
		var i int
		_, _ = fmt.Sscan(r.URL.Query().Get("i"), &i)
		return person(i)
	}
	url := serve(t, same)
	r := run(t, log, Options{Against: url, Redact: redactor(key).Response})
	if r.Differing != 0 || r.Ledger.Compared != 400 || r.Redacted.Responses != 0 {
		t.Errorf("with the key: %d differ, %+v", r.Differing, r.Redacted)
	}
	r = run(t, log, Options{Against: url, Redact: redactor(redact.NewKey()).Response})
	if r.Verdict != whittle.Different {
		t.Errorf("with another key: %s", r.Summary)
	}
	r = run(t, log, Options{Against: url})
	if r.Verdict != whittle.Undecided || r.Ledger.Skipped[skipNoKey] != 400 || r.Redacted.Responses != 400 || !strings.Contains(strings.Join(r.Notes, " "), ".key") {
		t.Errorf("without a key: %s, %+v, %v", r.Summary, r.Redacted, r.Notes)
	}
	other := serve(t, func(r *http.Request) string { return strings.Replace(same(r), "user", "abuser", 1) })
	r = run(t, log, Options{Against: other, Redact: redactor(key).Response})
	if r.Verdict != whittle.Different || r.Routes[0].Verdict.Findings[0].Path != "$.email" {
		t.Errorf("another address: %s", r.Summary)
	}
	for _, f := range r.Routes[0].Verdict.Findings {
		if strings.Contains(fmt.Sprint(f), "@shop") {
			t.Errorf("the report holds what redaction takes away: %+v", f)
		}
	}
}

// TestAnArchiveIsNotShown: what a HAR file has of secrets is in no report,
// though it is what is sent and compared.
func TestAnArchiveIsNotShown(t *testing.T) {
	show, err := redact.New(redact.Rules{}, redact.NewKey())
	if err != nil {
		t.Fatal(err)
	}
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
