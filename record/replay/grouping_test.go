package replay

import (
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/internal/fatal"
	"whittle/record/capture"
	"whittle/whittletest"
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
	fatal.Same(t, names, []string{"GET /articles/{article}", "GET /users/me", "GET /users/{user_id}/orders"}, "routes")
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
		"a header of a product's own": func(i int) *capture.Entry {
			e := get(i, fmt.Sprint("/account?i=", i), `{"name":"ann"}`)
			e.Request.Header["Private-Token"] = []string{"redacted-0123456789ab"}
			return e
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

// TestACodingThatNobodyAskedForIsAnother: a candidate that compresses what the recorded
// request did not want compressed is DIFFERENT, and one that does what it wanted is not.
func TestACodingThatNobodyAskedForIsAnother(t *testing.T) {
	t.Parallel()
	packs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("X-Shop", "1")
		z := gzip.NewWriter(w)
		fmt.Fprintf(z, `{"i":%s}`, r.URL.Query().Get("i"))
		_ = z.Close()
	}))
	defer packs.Close()
	for _, asked := range []bool{false, true} {
		var list []*capture.Entry
		for i := range 600 {
			e := get(i, fmt.Sprintf("/item?i=%d", i), fmt.Sprintf(`{"i":%d}`, i))
			e.Response.Header = whittle.Header{"Content-Type": {"application/json"}, "X-Shop": {"1"}} // without any nobody knows what there was
			e.Request.Header = whittle.Header{"Accept-Encoding": {"identity"}}
			if asked {
				e.Request.Header = whittle.Header{"Accept-Encoding": {"br, gzip"}}
			}
			list = append(list, e)
		}
		r := run(t, kept(list...), Options{Against: packs.URL})
		if got := r.Verdict == whittle.Different; got == asked || r.Ledger.Compared != 600 {
			t.Errorf("asked for %t: %s, %s, %+v", asked, r.Verdict, r.Summary, r.Ledger)
		}
	}
}

// TestOneLogInEachForm replays a journal's folder, one of its segments, and an
// archive.
func TestOneLogInEachForm(t *testing.T) {
	dir := written(t, numbers(400), nil)
	segments, err := filepath.Glob(filepath.Join(dir, "*"))
	fatal.If(t, err)
	archive := filepath.Join(t.TempDir(), "session.HAR")
	const entry = `{"startedDateTime":"2026-03-01T12:00:0%d.000Z","time":4,"request":{"method":"GET","url":"http://shop.example/n?i=%d","httpVersion":"HTTP/1.1","headers":[]},` +
		`"response":{"status":200,"headers":[{"name":"Content-Type","value":"application/json"}],"content":{"mimeType":"application/json","text":"{\"n\":%d}"}}}`
	text := fmt.Sprintf(`{"log":{"version":"1.2","entries":[`+entry+`,`+entry+`,{"request":{}}]}}`, 1, 3, 3, 2, 4, 4)
	fatal.If(t, os.WriteFile(archive, []byte(text), 0o600))
	url := serve(t, numberOf)
	for path, want := range map[string]int64{dir: 400, segmentOf(segments): 400, archive: 2} {
		log, err := OpenLog(path)
		fatal.If(t, err)
		r := run(t, log, Options{Against: url})
		if r.Ledger.Compared != want || r.Differing != 0 || r.Routes[0].Route != "GET /n" {
			t.Errorf("%s: %+v, %d differ", path, r.Ledger, r.Differing)
		}
		if path == archive && (len(log.Damage()) != 1 || !strings.Contains(strings.Join(r.Notes, "\n"), "left out entry 3")) {
			t.Errorf("what could not be read of an archive is not said: %v", r.Notes)
		}
	}
	_, err = OpenLog(filepath.Join(dir, "none"))
	whittletest.Refused(t, err, whittle.NotFound, "no log")
}

func segmentOf(files []string) string {
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.Size() > 1000 {
			return f
		}
	}
	return "none"
}

// An archive is not taken for an empty one where the replay was ended before it was read.
func TestAnEndedReplayOfAnArchiveIsCanceled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.har")
	archive := `{"log":{"entries":[{"startedDateTime":"2026-01-02T03:04:05Z","request":{"method":"GET","url":"http://a/"},"response":{"status":200,"content":{"text":"{}"}}}]}}`
	fatal.If(t, os.WriteFile(path, []byte(archive), 0o600))
	log, err := OpenLog(path)
	fatal.If(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Run(ctx, log, Options{Against: "http://127.0.0.1:1"})
	whittletest.Refused(t, err, whittle.Canceled, "")
}
