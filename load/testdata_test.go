package load

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"whittle/load/plan"
	"whittle/load/report"
)

// backend serves the plans of testdata, and refuses what they would not ask if
// they ran as they are meant to.
type backend struct {
	mu      sync.Mutex
	records map[string]json.RawMessage // guarded by mu
	keys    int                        // guarded by mu
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.mu.Lock()
	defer b.mu.Unlock()
	reply := func(status int, contentType, text string) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, text)
	}
	const asJSON = "application/json"
	switch path := r.URL.Path; {
	case path == "/login" && r.Method == "POST" && (string(body) == `{"email":"ann@example.org","password":"a,b"}` || string(body) == `{"email":"bob@example.org","password":"secret"}`):
		w.Header().Set("X-Session", "s7")
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: "1"})
		reply(200, asJSON, `{"token": "t0"}`)
	case path == "/items" && r.Header.Get("Authorization") == "Bearer t0" && r.URL.Query().Get("page") == "1" && slices.Contains([]string{"tea", "cups", "kettles"}, r.URL.Query().Get("category")):
		reply(200, asJSON, `{"items": [{"id": 1, "stock": 0}, {"id": 2, "stock": 9}]}`)
	case (path == "/items/1" || path == "/items/2") && r.Header.Get("Cookie") == "sid=1":
		reply(200, asJSON, "{}")
	case path == "/basket" && string(body) == "item=2&quantity=2" && r.Header.Get("X-Client") == "load":
		reply(201, asJSON, "{}")
	case path == "/":
		reply(200, "text/html", `<a class=product href="/p/1">1</a><a class=product href="/p/2">2</a>`)
	case path == "/p/1" || path == "/p/2":
		reply(200, "text/html", "<p>")
	case path == "/feed" && r.Header.Get("X-Old") == "yes":
		reply(200, "application/xml", `<feed><entry href="/e/1"/><entry href="/e/2"/></feed>`)
	case path == "/e/1":
		reply(200, "text/plain", "see token=abc123 here")
	case path == "/vote" && string(body) == "t=abc123":
		reply(200, "text/plain", "thanks abc123")
	case strings.HasPrefix(path, "/v1/"):
		b.api(r, body, reply)
	default:
		reply(500, "text/plain", "unexpected: "+r.Method+" "+r.RequestURI+" "+string(body))
	}
}

// api is called with mu held.
func (b *backend) api(r *http.Request, body []byte, reply func(int, string, string)) {
	path := strings.TrimPrefix(r.URL.Path, "/v1")
	user, pass, _ := r.BasicAuth()
	var sent struct {
		N    string // of $randomNumber, which makes texts
		Tags []string
		Step *int
	}
	_ = json.Unmarshal(body, &sent)
	_, known := b.records[path]
	switch {
	case path == "/keys" && user == "admin" && pass == "secret":
		b.keys++
		reply(200, "application/json", `{"key": "k1"}`)
	case path == "/keys/k1" && r.Method == "DELETE":
		b.keys--
		reply(204, "", "")
	case r.Method == "PUT" && strings.HasPrefix(path, "/records/") && r.Header.Get("X-Api-Key") == "k1" && sent.N != "" && len(sent.Tags) == 2 && len(sent.Tags[0]) == 5:
		b.records[path] = body
		reply(201, "application/json", fmt.Sprintf(`{"self": "http://%s/v1%s"}`, r.Host, path))
	case r.Method == "PATCH" && known && sent.Step != nil:
		b.records[path] = body
		reply(200, "application/json", "{}")
	case (r.Method == "GET" || r.Method == "HEAD") && known:
		reply(200, "application/json", string(b.records[path]))
	case r.Method == "DELETE" && known:
		delete(b.records, path)
		reply(204, "", "")
	default:
		reply(500, "text/plain", "unexpected: "+r.Method+" "+path)
	}
}

func TestOrdinaryPlansRunUnchanged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, environment string
		users             int64
		names             []string
	}{
		{"shop.yml", "", 4 + 2 + 6, []string{"sign in", "GET /items", "item", "POST /basket", "GET /", "GET {{ link }}"}},
		{"api.yml", "", 6, []string{"PUT /records/{{ $uuid }}", "PATCH {{ self }}", "GET {{ self }}", "read", "HEAD {{ self }}", "DELETE {{ self }}"}},
		{"api.yml", "smoke", 2, []string{"PUT /records/{{ $uuid }}", "PATCH {{ self }}", "GET {{ self }}", "read", "HEAD {{ self }}", "DELETE {{ self }}"}},
		{"legacy.yml", "", 5, []string{"GET /feed", "GET {{ entry }}", "POST /vote"}},
	} {
		t.Run(c.file+c.environment, func(t *testing.T) {
			t.Parallel()
			b := &backend{records: map[string]json.RawMessage{}}
			srv := httptest.NewServer(b)
			defer srv.Close()
			p, err := Read("testdata/plans/"+c.file, plan.Source{Environment: c.environment})
			if err != nil {
				t.Fatal(err)
			}
			target := srv.URL
			if c.file == "api.yml" {
				target += "/v1"
			}
			r := run(t, p, Options{Target: target, MaxLate: 1 << 40, OnResult: func(a Result) {
				if a.Failure != "" {
					t.Errorf("%s: %s, %d %s", a.Name, a.Failure, a.Status, a.Body)
				}
			}})
			if err := r.Err(); err != nil || r.Failed != 0 || r.Users != (report.Users{Planned: c.users, Started: c.users, Finished: c.users}) {
				t.Errorf("%v; %d failed, %+v", err, r.Failed, r.Users)
			}
			for i, n := range r.Names {
				if n.Name != c.names[i] || n.Requests == 0 && n.Name != "HEAD {{ self }}" && !strings.HasPrefix(n.Name, "GET /") && n.Name != "GET {{ link }}" {
					t.Errorf("request %d is %s, sent %d times", i, n.Name, n.Requests)
				}
			}
			if len(r.Names) != len(c.names) || b.keys != 0 || len(b.records) != 0 {
				t.Errorf("%d names; left over: %d keys, %d records", len(r.Names), b.keys, len(b.records))
			}
		})
	}
}
