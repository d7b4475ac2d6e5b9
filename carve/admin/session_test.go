package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"whittle"
	"whittle/carve/admin"
	"whittle/internal/fatal"
)

// login gives the cookie that a token buys.
func login(t *testing.T, h http.Handler, token string) *http.Cookie {
	t.Helper()
	w := ask(h, "POST", "/api/v1/session", `{"token": "`+token+`"}`)
	if w.Code != http.StatusNoContent {
		t.Fatalf("login: %d %s", w.Code, w.Body)
	}
	c := w.Result().Cookies()
	if len(c) != 1 || !c[0].HttpOnly || c[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("the cookie is %v", c)
	}
	if strings.Contains(c[0].Value, token) {
		t.Fatal("the cookie holds the token")
	}
	return c[0]
}

func TestABrowserShowsItsTokenOnce(t *testing.T) {
	d := newDesk()
	h := handler(t, admin.Options{Controller: d, Token: token, ViewerToken: viewerToken})
	order := "/api/v1/routes/GET%20%2F/hold"
	for _, tt := range []struct {
		token string
		role  admin.Role
		order int
	}{{token, admin.Operator, 200}, {viewerToken, admin.Viewer, 403}} {
		c := login(t, h, tt.token)
		cookie := func(r *http.Request) { r.AddCookie(c) }
		var s admin.Session
		if err := json.Unmarshal(ask(h, "GET", "/api/v1/session", "", cookie).Body.Bytes(), &s); err != nil || s.Role != tt.role || !s.NeedsToken {
			t.Errorf("%s is %+v (%v)", tt.role, s, err)
		}
		fatal.Same(t, ask(h, "GET", "/api/v1/status", "", cookie).Code, http.StatusOK, "%s looks", tt.role)
		fatal.Same(t, ask(h, "POST", order, "{}", cookie).Code, tt.order, "%s orders", tt.role)
		if w := ask(h, "POST", order, "{}", cookie, with("Sec-Fetch-Site", "cross-site")); w.Code != http.StatusForbidden {
			t.Errorf("%s orders from another site: %d", tt.role, w.Code)
		}
		fatal.Same(t, ask(h, "DELETE", "/api/v1/session", "", cookie).Code, http.StatusNoContent, "%s logs out", tt.role)
		fatal.Same(t, ask(h, "GET", "/api/v1/status", "", cookie).Code, http.StatusUnauthorized, "%s looks after having gone", tt.role)
	}
}

func TestGuessingIsSlow(t *testing.T) {
	h := handler(t, admin.Options{Controller: newDesk(), Token: token})
	var wrong, tooMany int
	for range 100 {
		switch w := ask(h, "POST", "/api/v1/session", `{"token": "guess"}`); w.Code {
		case http.StatusUnauthorized:
			wrong++
		case http.StatusTooManyRequests:
			tooMany++
		default:
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	if wrong == 0 || tooMany < 50 {
		t.Errorf("%d guesses were heard, %d were not", wrong, tooMany)
	}
	login(t, h, token) // who knows the token is never kept out by who does not
}

// live is a desk whose routes change under the reader's eyes.
type live struct {
	*desk
	mu sync.Mutex
}

func (l *live) Status() []whittle.RouteStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]whittle.RouteStatus(nil), l.routes...)
}

func (l *live) change(f func(*desk)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f(l.desk)
}

// reading takes updates off a stream.
type reading struct {
	lines *bufio.Scanner
	end   func()
}

func follow(t *testing.T, url string, change ...func(*http.Request)) *reading {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/api/v1/events", nil)
	fatal.If(t, err)
	for _, f := range change {
		f(req)
	}
	resp, err := http.DefaultClient.Do(req)
	fatal.If(t, err)
	r := &reading{lines: bufio.NewScanner(resp.Body), end: func() { cancel(); resp.Body.Close() }}
	r.lines.Buffer(nil, 1<<20)
	t.Cleanup(r.end)
	if ct := resp.Header.Get("Content-Type"); ct != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, ct)
	}
	return r
}

func (r *reading) next(t *testing.T) admin.Update {
	t.Helper()
	for r.lines.Scan() {
		if data, ok := strings.CutPrefix(r.lines.Text(), "data: "); ok {
			var u admin.Update
			fatal.If(t, json.Unmarshal([]byte(data), &u))
			return u
		}
	}
	t.Fatalf("the stream ended: %v", r.lines.Err())
	return admin.Update{}
}

func TestAPageGetsUpdates(t *testing.T) {
	l := &live{desk: newDesk()}
	ending := make(chan struct{})
	server := httptest.NewServer(handler(t, admin.Options{Controller: l, Ending: ending}))
	defer server.Close()
	r := follow(t, server.URL)

	first := r.next(t)
	if first.Partial || len(first.Routes) != 3 {
		t.Fatalf("first: %+v", first)
	}
	if f := first.Routes[0].Verdict.Findings; len(f) != 1 || f[0].Samples != nil {
		t.Errorf("an update carries samples: %+v", f)
	}

	l.change(func(d *desk) {
		d.routes[1].Verdict.Compared = 7
		d.routes[1].Verdict.Findings = nil
		for i := range 30 {
			d.routes[1].Verdict.Findings = append(d.routes[1].Verdict.Findings, whittle.Finding{Decided: i >= 10, Expected: strings.Repeat("known", i%2)})
		}
	})
	second := r.next(t)
	if !second.Partial || len(second.Routes) != 1 || second.Routes[0].Verdict.Compared != 7 {
		t.Errorf("second: %+v", second)
	}
	if r := second.Routes[0]; r.Found != (admin.Found{Total: 30, Shown: 10, Intended: 15}) || len(r.Verdict.Findings) != 5 {
		t.Errorf("of 30 findings %d are sent and %+v counted", len(r.Verdict.Findings), r.Found)
	}

	l.change(func(d *desk) { d.routes = d.routes[:2] })
	if third := r.next(t); third.Partial || len(third.Routes) != 2 {
		t.Errorf("after the config was loaded again: %+v", third)
	}

	close(ending)
	for r.lines.Scan() {
	}
	if err := r.lines.Err(); err != nil {
		t.Errorf("the end was no end but %v", err)
	}
}

// TestALivePageEndsWithItsSession logs out in one tab while another is live.
func TestALivePageEndsWithItsSession(t *testing.T) {
	h := handler(t, admin.Options{Controller: newDesk(), Token: token})
	server := httptest.NewServer(h)
	defer server.Close()
	c := login(t, h, token)
	cookie := func(r *http.Request) { r.AddCookie(c) }
	r := follow(t, server.URL, cookie)
	r.next(t)
	ask(h, "DELETE", "/api/v1/session", "", cookie)
	for r.lines.Scan() {
	}
	if err := r.lines.Err(); err != nil {
		t.Errorf("the stream went on: %v", err)
	}
}

func TestPagesAreBounded(t *testing.T) {
	ending := make(chan struct{})
	server := httptest.NewServer(handler(t, admin.Options{Controller: newDesk(), Ending: ending}))
	defer server.Close()
	defer close(ending)
	for range 64 {
		follow(t, server.URL).next(t)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/events", nil)
	fatal.If(t, err)
	resp, err := http.DefaultClient.Do(req)
	fatal.If(t, err)
	defer resp.Body.Close()
	fatal.Same(t, resp.StatusCode, http.StatusTooManyRequests, "page 65")
}

func TestAPageOfFindings(t *testing.T) {
	d := newDesk()
	for i := range 10_000 {
		d.routes[1].Verdict.Findings = append(d.routes[1].Verdict.Findings, whittle.Finding{Kind: whittle.FoundField, Path: fmt.Sprintf("$.f%d", i)})
	}
	h := handler(t, admin.Options{Controller: d})
	var f admin.Findings
	w := ask(h, "GET", "/api/v1/routes/GET%20%2F/findings?q=f99&offset=100&limit=5", "")
	fatal.If(t, json.Unmarshal(w.Body.Bytes(), &f))
	if f.Total != 111 || f.Offset != 100 || len(f.Findings) != 5 || f.Findings[0].Path != "$.f9989" {
		t.Errorf("%d in all, from %d on: %+v", f.Total, f.Offset, f.Findings)
	}
}
