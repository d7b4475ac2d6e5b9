package load

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle/internal/fatal"
	"whittle/load/wire"
)

// A name and a password in a URL are sent as basic authentication, to its server alone and
// unless the request has its own, and are in no report.
func TestALoginInAURL(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	var other *httptest.Server
	handle := func(name string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			user, password, _ := r.BasicAuth()
			mu.Lock()
			seen = append(seen, strings.TrimSpace(name+r.URL.Path+" "+user+":"+password))
			mu.Unlock()
			switch r.URL.Path {
			case "/away":
				http.Redirect(w, r, other.URL+"/there", http.StatusFound)
			case "/on":
				http.Redirect(w, r, "/there", http.StatusFound)
			}
		})
	}
	start := func(name string) *httptest.Server {
		srv := httptest.NewUnstartedServer(handle(name))
		srv.Config.Protocols = new(http.Protocols)
		srv.Config.Protocols.SetHTTP1(true)
		srv.Config.Protocols.SetUnencryptedHTTP2(true)
		srv.Start()
		t.Cleanup(srv.Close)
		return srv
	}
	srv := start("srv")
	other = start("other")
	with := func(u string) string { return strings.Replace(u, "://", "://me:p%40ss@", 1) }
	const login = " me:p@ss"
	for _, c := range []struct{ target, flow, want string }{
		{with(srv.URL), "{get: {url: /a}}", "srv/a" + login},
		{with(srv.URL) + "/base", "{post: {url: /a, json: {}}}", "srv/base/a" + login},
		{with(srv.URL), "{get: {url: /a, headers: {Authorization: 'Basic " + base64.StdEncoding.EncodeToString([]byte("x:y")) + "'}}}", "srv/a x:y"},
		{with(srv.URL), "{get: {url: /a, auth: {user: u, pass: v}}}", "srv/a u:v"},
		{with(srv.URL), "{get: {url: '" + other.URL + "/b'}}, {get: {url: /a}}", "other/b :; srv/a" + login},
		{srv.URL, "{get: {url: '" + with(other.URL) + "/b'}}, {get: {url: /a}}", "other/b" + login + "; srv/a :"},
		{srv.URL, "{get: {url: '" + with(other.URL) + "/b/{{ x }}'}}, {get: {url: '" + other.URL + "/c'}}", "other/b/1" + login + "; other/c :"},
		{with(srv.URL), "{get: {url: /on}}", "srv/on" + login + "; srv/there" + login},
		{with(srv.URL), "{get: {url: /away}}", "other/there :; srv/away" + login},
		{with(srv.URL), "{get: {url: '{{ target }}/a'}}", "srv/a" + login},
	} {
		for _, protocol := range []string{wire.HTTP1, wire.HTTP2} {
			seen = nil
			p := parsed(t, "config: {phases: [{duration: 0.01, arrivalCount: 1}], variables: {x: [1]}, target: '"+c.target+"'}\nscenarios: [{flow: ["+c.flow+"]}]")
			r := run(t, p, Options{Protocol: protocol})
			slices.Sort(seen)
			if got := strings.Join(seen, "; "); got != c.want || r.Failed != 0 {
				t.Errorf("%s %s over %s: %q, want %q; %v", c.target, c.flow, protocol, got, c.want, r.ErrorSamples)
			}
			var text, page bytes.Buffer
			b, err := json.Marshal(r)
			if err != nil || r.WriteSummary(&text) != nil || r.WriteHTML(&page) != nil {
				t.Fatal(err)
			}
			for _, out := range []string{string(b), text.String(), page.String()} {
				if strings.Contains(out, "p%40ss") || strings.Contains(out, "p@ss") {
					t.Errorf("%s %s: the password is in\n%.2000s", c.target, c.flow, out)
				}
			}
		}
	}
	// By flags, templates in the path stay what they are.
	seen = nil
	p, err := Workload{Plan: with(srv.URL) + "/{{ $randomNumber(7, 7) }}"}.Read()
	fatal.If(t, err)
	if run(t, p, Options{}); len(seen) != 1 || seen[0] != "srv/7"+login || strings.Contains(p.Name, "@") {
		t.Errorf("%q of %s", seen, p.Name)
	}
}
