package replay

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/record/redact"
)

// person is what the monolith and its candidate return: a text and a number that
// are secret, and a name.
func person(i int) string {
	return fmt.Sprintf(`{"i":%d,"email":"user%d@shop.example","pin":%d,"phone":%d}`, i, i, 4000+i, 700_000+i)
}

// record writes a log of people by some rules, and gives its folder.
func record(t *testing.T, n int, rules redact.Rules, key []byte, body func(int) string) string {
	t.Helper()
	by, err := redact.New(rules, key)
	fatal.If(t, err)
	return written(t, made{n, func(i int) *capture.Entry {
		e := get(i, fmt.Sprintf("/p?i=%d", i), body(i))
		by.Request(&e.Request)
		by.Response(&e.Response)
		return e
	}}, by.Describe().JSON())
}

func like(t *testing.T, path, url string, rules redact.Rules, key []byte) *Report {
	t.Helper()
	log, err := OpenLog(path)
	fatal.If(t, err)
	o := Options{Against: url}
	fatal.If(t, o.RedactLike(log, rules, key))
	return run(t, log, o)
}

func responses(t *testing.T, body func(int) string) string {
	t.Helper()
	return serve(t, func(r *http.Request) string {
		var i int
		_, _ = fmt.Sscan(r.URL.Query().Get("i"), &i)
		return body(i)
	})
}

// TestRulesThatDiffer are reported, and are no difference of the candidate's.
func TestRulesThatDiffer(t *testing.T) {
	key := redact.NewKey()
	url := responses(t, person)
	for _, c := range []struct {
		name          string
		recorded, now redact.Rules
		note          string // empty: the rules are the same, and all is compared
	}{
		{"the same", redact.Rules{Fields: []string{"phone"}}, redact.Rules{Fields: []string{"Phone"}}, ""},
		{"fewer now", redact.Rules{Fields: []string{"phone"}, Paths: []string{"$.i"}}, redact.Rules{}, "fields phone, paths $.i. "},
		{"more now", redact.Rules{}, redact.Rules{Fields: []string{"phone"}}, "the defaults. "},
		{"kept then", redact.Rules{Keep: []string{"pin"}}, redact.Rules{}, "but not pin. "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := like(t, record(t, 300, c.recorded, key, person), url, c.now, key)
			notes, compared := strings.Join(r.Notes, "\n"), map[bool]int64{true: 300}[c.note == ""]
			if r.Differing != 0 || r.Ledger.Compared != compared || r.Verdict == whittle.Different ||
				!strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "rules") {
				t.Errorf("%s: %d compared, %d differ, %s", r.Summary, r.Ledger.Compared, r.Differing, notes)
			}
		})
	}
}

// TestSecretsWithoutTheirKey, texts and numbers alike, cannot be compared, which
// is no difference: not without a key, and not with another one.
func TestSecretsWithoutTheirKey(t *testing.T) {
	numbers := func(i int) string { return fmt.Sprintf(`{"i":%d,"pin":%d}`, i, 4000+i) }
	dir := record(t, 200, redact.Rules{}, redact.NewKey(), numbers)
	url := responses(t, numbers)
	for name, key := range map[string][]byte{"no key": nil, "another key": redact.NewKey()} {
		r := like(t, dir, url, redact.Rules{}, key)
		notes := strings.Join(r.Notes, "\n")
		if r.Verdict != whittle.Undecided || r.Ledger.Skipped[skipNoKey] != 200 || r.Differing != 0 || !strings.Contains(notes, "--redact-key") {
			t.Errorf("%s: %s, %v, %s", name, r.Summary, r.Ledger.Skipped, notes)
		}
		fatal.Same(t, strings.Contains(notes, "not the one"), key != nil, "%s: %s", name, notes)
	}
	// A number that only looks like one is compared where the candidate has it.
	plain := func(int) string { return `{"id":8123456789012345}` }
	if r := like(t, record(t, 200, redact.Rules{}, redact.NewKey(), plain), responses(t, plain), redact.Rules{}, nil); r.Ledger.Compared != 200 || r.Differing != 0 {
		t.Errorf("an id: %s, %v", r.Summary, r.Ledger.Skipped)
	}
}

// TestHeadersOfALog: a header that is compared is held against the log's, unless
// the log does not tell what it was.
func TestHeadersOfALog(t *testing.T) {
	key := redact.NewKey()
	url := func(header http.Header) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			maps.Copy(w.Header(), header)
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("ok"))
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	recorded := http.Header{"Location": {"/in?token=1234abcd"}, "Set-Cookie": {"sid=1; HttpOnly"}, "Cache-Control": {"no-store"}}
	by, err := redact.New(redact.Rules{}, key)
	fatal.If(t, err)
	of := func(header http.Header, redacted bool) Log {
		return made{60, func(i int) *capture.Entry {
			e := get(i, "/in", "ok")
			e.Response.Header = whittle.Header(header.Clone())
			e.Response.Header["Content-Type"] = []string{"text/plain"}
			if redacted {
				by.Response(&e.Response)
			}
			return e
		}}
	}
	log, none, bare := of(recorded, true), of(http.Header{}, false), of(http.Header{"Server": {"s"}}, false)
	with := func(change http.Header) http.Header {
		h := recorded.Clone()
		maps.Copy(h, change)
		return h
	}
	for _, tc := range []struct {
		name      string
		log       Log
		candidate http.Header
		o         Options
		found     string // empty: nothing
	}{
		{"the same, with the key", log, recorded, Options{Redact: by.Response, HasTokens: true}, ""},
		{"another token, with the key", log, with(http.Header{"Location": {"/in?token=9999"}}), Options{Redact: by.Response, HasTokens: true}, "Location"},
		{"another token, without the key", log, with(http.Header{"Location": {"/in?token=9999"}}), Options{HasTokens: true}, ""},
		{"another cookie's value", log, with(http.Header{"Set-Cookie": {"sid=2; HttpOnly"}}), Options{HasTokens: true}, ""},
		{"a cookie for scripts, without the key", log, with(http.Header{"Set-Cookie": {"sid=2"}}), Options{HasTokens: true}, "Set-Cookie"},
		{"for any cache", log, with(http.Header{"Cache-Control": {"public"}}), Options{HasTokens: true}, "Cache-Control"},
		{"an archive, the same", of(recorded, false), recorded, Options{}, ""},
		{"an archive without cookies", bare, http.Header{"Set-Cookie": {"sid=1"}}, Options{}, ""},
		{"an archive without headers", none, http.Header{"Location": {"/"}}, Options{}, ""},
		{"an archive without a redirect", bare, http.Header{"Location": {"/"}}, Options{}, "Location"},
		{"a log without cookies", bare, http.Header{"Set-Cookie": {"sid=1"}}, Options{HasTokens: true}, "Set-Cookie"},
	} {
		tc.o.Against = url(tc.candidate)
		r := run(t, tc.log, tc.o)
		found := ""
		for _, f := range r.Routes[0].Verdict.Findings {
			if f.Expected == "" { // otherwise servers add it
				found += f.Path
			}
		}
		if found != tc.found || r.Ledger.Compared != 60 || (r.Differing >= 50) != (tc.found != "") {
			t.Errorf("%s: found %q, %d of %d differ: %s", tc.name, found, r.Differing, r.Ledger.Compared, r.Summary)
		}
	}
}

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
	fatal.Has(t, all, "yes")
}

// TestAShapeKeepsItsKinds: a kind after the name of a secret is no secret. Of the requests that
// were sent, those without a response differ too.
func TestAShapeKeepsItsKinds(t *testing.T) {
	show, err := redact.New(redact.Rules{}, redact.NewKey())
	fatal.If(t, err)
	url := serve(t, func(r *http.Request) string {
		if r.URL.Path == "/b" {
			panic(http.ErrAbortHandler)
		}
		return "1"
	})
	log := made{40, func(i int) *capture.Entry {
		e := get(i, []string{"/a", "/b"}[i%2], "1")
		e.Request.Header["Content-Type"], e.Request.Body = []string{"application/json"}, []byte(`{"password":"x","pin":1}`)
		return e
	}}
	r := run(t, log, Options{Against: url, Show: show})
	if got := r.Shapes.Differ[0].Shape; got != "GET /b {password:text,pin:integer} → 200" {
		t.Errorf("shape %q", got)
	}
	if !strings.HasSuffix(r.Summary, "; 20 of 40 exchanges differ") {
		t.Error(r.Summary)
	}
}

// TestABreakOffOverAToken: a candidate that breaks off over a token in the place of a credential
// is not judged by that. One that nobody reaches is.
func TestABreakOffOverAToken(t *testing.T) {
	log := made{40, func(i int) *capture.Entry {
		e := get(i, "/a", "1")
		e.Request.Header["Cookie"] = []string{"sid=redacted-3a61682de599"}
		return e
	}}
	r := run(t, log, Options{Against: serve(t, func(*http.Request) string { panic(http.ErrAbortHandler) })})
	if r.Verdict != whittle.Undecided || r.Ledger.Skipped[skipRedacted] != 40 || r.Err(nil) == nil {
		t.Errorf("%s, %v, %v", r.Summary, r.Ledger.Skipped, r.Err(nil))
	}
	unpacked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(w, "no gzip")
	}))
	defer unpacked.Close()
	for _, url := range []string{"http://127.0.0.1:1", unpacked.URL} {
		fatal.Same(t, run(t, log, Options{Against: url}).Verdict, whittle.Different, "%s", url)
	}
}
