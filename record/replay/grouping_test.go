package replay

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/record/capture"
)

// TestRoutesAreTheContractsEndpoints: without a config, words that are values are
// one route, as a contract of the log has them, and not a route each.
func TestRoutesAreTheContractsEndpoints(t *testing.T) {
	word := func(i int) string { return fmt.Sprintf("%c%c-light", 'a'+i%26, 'a'+i/26%26) }
	log := made{600, func(i int) *capture.Entry {
		switch i % 3 {
		case 0:
			return get(i, "/articles/"+word(i/3), fmt.Sprintf(`{"title":%q,"words":%d}`, word(i/3), i))
		case 1:
			return get(i, fmt.Sprintf("/users/%d/orders?page=%d", i, i%4), fmt.Sprintf(`[{"id":%d}]`, i))
		}
		return get(i, "/users/me", `{"name":"ann"}`)
	}}
	url := serve(t, func(r *http.Request) string {
		i := 0
		switch {
		case r.URL.Path == "/users/me":
			return `{"name":"ann"}`
		case strings.HasPrefix(r.URL.Path, "/users/"):
			_, _ = fmt.Sscanf(r.URL.Path, "/users/%d/", &i)
			return fmt.Sprintf(`[{"id":%d}]`, i)
		}
		return `{"title":"another"}`
	})
	r := run(t, log, Options{Against: url})
	var names []string
	for i := range r.Routes {
		names = append(names, r.Routes[i].Route)
	}
	slices.Sort(names)
	if want := []string{"GET /articles/{article}", "GET /users/me", "GET /users/{user_id}/orders"}; !slices.Equal(names, want) {
		t.Errorf("routes %q, want %q", names, want)
	}
	if only := run(t, log, Options{Against: url, Only: []string{"GET /articles/{article}"}}); only.Ledger.Skipped[skipOther] != 400 || only.Ledger.Compared != 200 {
		t.Errorf("one route: %+v", only.Ledger)
	}
}

// account responds by who asks: the monolith saw a credential, of which the log
// has a token.
func account(i int) *capture.Entry {
	e := get(i, fmt.Sprint("/account?i=", i), `{"name":"ann"}`)
	e.Request.Header["Cookie"] = []string{"theme=dark; sid=redacted-0123456789ab"}
	return e
}

// TestWhatACredentialDecidesIsUndecided: responses that differ and whose requests
// have a token in the place of a credential are no difference and no evidence
// either, wherever the token stands; those of the same route without one are.
func TestWhatACredentialDecidesIsUndecided(t *testing.T) {
	anonymous := serve(t, func(r *http.Request) string {
		if strings.Contains(fmt.Sprint(r.Header, r.URL), "redacted-") || r.Method == "POST" {
			return `{"name":null}`
		}
		return `{"name":"ann"}`
	})
	login := func(body string) func(i int) *capture.Entry {
		return func(i int) *capture.Entry {
			e := get(i, fmt.Sprint("/account?i=", i), `{"name":"ann"}`)
			e.Request.Method, e.Request.Body = "POST", []byte(body)
			e.Request.Header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
			return e
		}
	}
	for name, at := range map[string]func(i int) *capture.Entry{
		"a cookie":             account,
		"a form's password":    login("user=ann&password=redacted-0123456789ab"),
		"JSON's nested secret": login(`{"user":"ann","login":{"passwords":["redacted-0123456789ab"]}}`),
		"a query's token": func(i int) *capture.Entry {
			return get(i, fmt.Sprint("/account?access_token=redacted-0123456789ab&i=", i), `{"name":"ann"}`)
		},
		"a part of the path": func(i int) *capture.Entry {
			return get(i, fmt.Sprint("/account/redacted-0123456789ab?i=", i), `{"name":"ann"}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, made{400, at}, Options{Against: anonymous, AllowWrites: true})
			if r.Verdict != whittle.Undecided || r.Differing != 0 || r.Ledger.Skipped[skipRedacted] != 400 || r.Redacted.Undecided != 400 {
				t.Errorf("%s, %d differ, %+v, %+v", r.Summary, r.Differing, r.Ledger, r.Redacted)
			}
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "--header 'Cookie: …'") {
				t.Errorf("notes %s", notes)
			}
		})
	}

	mixed := made{2000, func(i int) *capture.Entry {
		if i%2 == 0 {
			return account(i)
		}
		return get(i, fmt.Sprint("/account?i=", i), `{"name":"ann"}`)
	}}
	r := run(t, mixed, Options{Against: anonymous})
	if v := &r.Routes[0].Verdict; r.Verdict != whittle.Undecided || r.Routes[0].Undecided != 1000 || v.Compared != 1000 || !strings.Contains(v.Summary, "credential") {
		t.Errorf("half of them: %s, %+v", r.Summary, r.Routes[0])
	}
	wrong := serve(t, func(*http.Request) string { return `{"name":"eve"}` })
	if r := run(t, mixed, Options{Against: wrong}); r.Verdict != whittle.Different {
		t.Errorf("wrong without a credential: %s", r.Summary)
	}
	right := serve(t, func(*http.Request) string { return `{"name":"ann"}` })
	if r := run(t, mixed, Options{Against: right}); r.Verdict != whittle.Equivalent || r.Ledger.Compared != 2000 {
		t.Errorf("the credential does not matter: %s, %+v", r.Summary, r.Ledger)
	}
	given := Options{Against: wrong, Header: whittle.Header{"Cookie": {"sid=real"}}}
	if r := run(t, made{400, account}, given); r.Verdict != whittle.Different || r.Redacted.Undecided != 0 {
		t.Errorf("with a real credential: %s, %+v", r.Summary, r.Redacted)
	}
	if r := run(t, made{40, account}, Options{Against: "http://127.0.0.1:1"}); r.Ledger.Failed != 40 || r.Redacted.Undecided != 0 {
		t.Errorf("nobody there: %s, %+v", r.Summary, r.Ledger)
	}
}

// TestATokenThatIsNoCredentialIsCompared: what was redacted for what it looks like,
// such as an address, is data.
func TestATokenThatIsNoCredentialIsCompared(t *testing.T) {
	wrong := serve(t, func(*http.Request) string { return `{"ok":false}` })
	r := run(t, made{400, func(i int) *capture.Entry { return get(i, "/find?mail=redacted-0123456789ab", `{"ok":true}`) }}, Options{Against: wrong})
	if r.Verdict != whittle.Different || r.Redacted.Undecided != 0 {
		t.Errorf("%s, %+v", r.Summary, r.Redacted)
	}
}
