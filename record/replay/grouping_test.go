package replay

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	if r.Inputs != (Inputs{Recorded: 401, Compared: 401, Differing: 200}) {
		t.Errorf("inputs %+v", r.Inputs)
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
			cases := NewCases(false)
			r := run(t, made{400, at}, Options{Against: anonymous, AllowWrites: true, Cases: cases})
			if r.Verdict != whittle.Undecided || r.Differing != 0 || r.Ledger.Skipped[skipRedacted] != 400 || r.Redacted.Undecided != 400 || r.Inputs.Differing != 0 {
				t.Errorf("%s, %d differ, %+v, %+v", r.Summary, r.Differing, r.Ledger, r.Redacted)
			}
			if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "--header 'Cookie: …'") {
				t.Errorf("notes %s", notes)
			}
			if n, err := cases.Write(t.TempDir(), r); n != 0 || err != nil {
				t.Errorf("%d tests of what is undecided, %v", n, err)
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

// TestTestsAreOfDistinctInputs: however often the first request comes, each input
// that differs has a test, with cover each that was sent, failures too; and files
// and report say of how many.
func TestTestsAreOfDistinctInputs(t *testing.T) {
	inputs := []int{0, 2, 10, 100, 500, 1000, 2000, 5000, 300000}
	log := made{500, func(i int) *capture.Entry {
		n := inputs[0]
		if i >= 200 {
			n = inputs[i%len(inputs)]
		}
		e := get(i, fmt.Sprintf("/primes/%d", n), fmt.Sprintf(`{"n":%d}`, n))
		if n == 300000 {
			e.Response = responseOf(`{"error":"too large"}`)
			e.Response.Status = 400
		}
		return e
	}}
	url := serve(t, func(r *http.Request) string {
		n := strings.TrimPrefix(r.URL.Path, "/primes/")
		if len(n) == 4 {
			n += "1" // 1000, 2000 and 5000 are broken; 300000 is not refused
		}
		return `{"n":` + n + `}`
	})
	for cover, want := range map[bool]string{false: "4 of the 4 that differ, of 9 distinct recorded inputs", true: "9 of 9 distinct recorded inputs"} {
		cases, dir := NewCases(cover), t.TempDir()
		r := run(t, log, Options{Against: url, Cases: cases})
		n, err := cases.Write(dir, r)
		source, _ := os.ReadFile(filepath.Join(dir, testsFile))
		if err != nil || fmt.Sprint(n) != want[:1] || cases.Coverage(r) != want || !strings.Contains(string(source), "Distinct requests with a test: "+want+".") {
			t.Errorf("cover %v: %d tests, %s, %v", cover, n, cases.Coverage(r), err)
		}
		if r.Inputs != (Inputs{Recorded: 9, Compared: 9, Differing: 4}) {
			t.Errorf("inputs %+v", r.Inputs)
		}
		cmd := exec.CommandContext(t.Context(), "go", "test", "-vet=all", ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "TARGET_URL="+url, "GOFLAGS="+os.Getenv("GOFLAGS")+" -trimpath", "GOWORK=off")
		out, err := cmd.CombinedOutput()
		for _, n := range []int{1000, 2000, 5000, 300000} {
			if err == nil || !strings.Contains(string(out), fmt.Sprintf("-get-primes-%d ", n)) {
				t.Errorf("cover %v: the tests do not fail for %d: %v\n%s", cover, n, err, out)
			}
		}
	}
}
