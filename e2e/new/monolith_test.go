package newservice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"whittle"
	"whittle/e2e/process"
	"whittle/internal/fatal"
	"whittle/internal/needs"
	"whittle/record/capture"
)

// later says that the recording is over: from then on there are words that nobody recorded.
var later atomic.Bool

// shop is a monolith of six endpoints: an order with members that may be
// missing, null or lists, a path with a plain text, and a list whose ids and
// times are new at each call. Their
// headers, of failures too, are those that a candidate must have as well.
// The others made services fail at once: a login that is responded with a redirect, a
// cookie and no body, a short link, and a path that begins with a parameter.
func shop() http.Handler {
	var ids atomic.Int64
	reply := func(w http.ResponseWriter, status int, v any) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Cache-Control", "private, no-store")
		w.Header().Add("Set-Cookie", fmt.Sprintf("seen=%d; Path=/; HttpOnly", ids.Add(1)))
		w.Header().Add("Set-Cookie", "lang=en; Max-Age=3600")
		w.WriteHeader(status)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /quotes", func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Reference, Speed, Customer string
			Items                      []struct {
				SKU   string
				Count int
				Note  *string
			}
			Coupon *string
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			reply(w, 400, map[string]any{"error": "not JSON"})
			return
		}
		if q.Customer == "" {
			reply(w, 422, map[string]any{"error": map[string]any{"field": "customer", "is": "empty"}})
			return
		}
		lines, total := []any{}, 0
		for i, item := range q.Items {
			line := map[string]any{"sku": item.SKU, "cents": 250 * item.Count, "note": item.Note}
			if item.Count > 2 {
				line["discount"] = map[string]any{"percent": 7.5, "because": []string{"many", item.SKU}}
			}
			if i%2 == 1 {
				line["tags"] = []string{"odd"}
			}
			lines = append(lines, line)
			total += 250 * item.Count
		}
		response := map[string]any{
			"reference": q.Reference, "speed": q.Speed, "customer": map[string]any{"name": q.Customer, "vip": len(q.Customer) > 4},
			"lines": lines, "totalCents": total, "coupon": q.Coupon,
		}
		if total > 1000 {
			response["shipping"] = "free"
		}
		reply(w, 200, response)
	})
	mux.HandleFunc("GET /greetings/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") == "nobody" {
			reply(w, 404, map[string]any{"error": "nobody is here"})
			return
		}
		hello := "Hello"
		if r.URL.Query().Get("lang") == "de" {
			hello = "Hallo"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Language", map[string]string{"Hello": "en", "Hallo": "de"}[hello])
		w.Header().Set("Link", "</greetings/ann>; rel=next")
		fmt.Fprintf(w, "%s, %s!\n", hello, r.PathValue("name"))
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		list, kinds := []any{}, []string{"open", "closed"}
		if later.Load() {
			kinds = append(kinds, "paused")
		}
		for i := range n {
			list = append(list, map[string]any{
				"id": ids.Add(1) + 1_000_000, "at": time.Now().UTC().Format(time.RFC3339Nano), "kind": kinds[i%len(kinds)], "rank": i,
			})
		}
		reply(w, 200, list)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("password") == "wrong" {
			w.Header().Set("Location", "/login?error=1&user="+url.QueryEscape(r.PostFormValue("user")))
		} else {
			w.Header().Set("Location", "/home")
			w.Header().Set("Set-Cookie", "sid="+url.QueryEscape(r.PostFormValue("user"))+"; Path=/; HttpOnly; SameSite=Lax")
		}
		w.WriteHeader(http.StatusFound)
	})
	mux.HandleFunc("GET /go/to/{code}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/articles/"+r.PathValue("code"), http.StatusMovedPermanently)
	})
	mux.HandleFunc("GET /{tenant}/items/all", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[{"id":1,"of":%q}]`, r.PathValue("tenant"))
	})
	return mux
}

// request is one that a user sends.
type request struct{ method, target, body string }

// contentType is JSON's or a form's.
func (q *request) contentType() string {
	if strings.HasPrefix(q.body, "{") {
		return "application/json"
	}
	return "application/x-www-form-urlencoded"
}

// asItComes follows no redirect.
func asItComes(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// shopRequests give the i-th request to each endpoint.
var shopRequests = map[string]func(i int) request{
	"POST /quotes": func(i int) request {
		name := []string{"ann", "bob", "charlotte", "", "dorothea"}[i%5]
		items := []string{
			`[]`, `[{"sku":"a","count":1}]`,
			`[{"sku":"a","count":3,"note":"gift"},{"sku":"b","count":2,"note":null}]`,
			`[{"sku":"c","count":9},{"sku":"d","count":1},{"sku":"e","count":4}]`,
		}[i%4]
		coupon := []string{"", `,"coupon":"C` + strconv.Itoa(i%3) + `"`, `,"coupon":null`}[i%3]
		speed := []string{"standard", "express"}[i%2]
		if later.Load() && i%13 == 0 {
			speed = "by balloon"
		}
		return request{"POST", "/quotes", fmt.Sprintf(`{"reference":"q-%d","speed":%q,"customer":%q,"items":%s%s}`, i, speed, name, items, coupon)}
	},
	"GET /greetings/{name}": func(i int) request {
		return request{"GET", "/greetings/" + []string{"ann", "bob%20b", "%C3%A9va", "nobody", "user-" + strconv.Itoa(i*i%997)}[i%5] + []string{"", "?lang=de", "?lang=en"}[i%3], ""}
	},
	"GET /events": func(i int) request { return request{"GET", "/events?limit=" + strconv.Itoa(i%4), ""} },
	"POST /login": func(i int) request {
		password := []string{"right", "wrong", "right again"}[i%3]
		return request{"POST", "/login", url.Values{"user": {fmt.Sprint("ann", i%11)}, "password": {password}}.Encode()}
	},
	"GET /go/to/{code}": func(i int) request { return request{"GET", fmt.Sprint("/go/to/", 100+i%7), ""} },
	"GET /{tenant}/items/all": func(i int) request {
		return request{"GET", "/" + []string{"acme", "globex", "initech"}[i%3] + "/items/all", ""}
	},
}

// countRequest is what users of the count monolith send.
func countRequest(i int) request {
	return request{"POST", "/Count", fmt.Sprintf(`{"times":%d}`, 200+100*(i%17))}
}

// countMonolith is the worked system's, in Node.
func countMonolith(t *testing.T) string {
	t.Helper()
	needs.Node(t)
	fatal.If(t, process.NeedMonolith())
	return "http://" + process.Monolith(t).Public
}

func shopMonolith(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(shop())
	t.Cleanup(s.Close)
	return s.URL
}

// ask sends a request and reads all of the response.
func ask(c *http.Client, base string, q request, user string) (*whittle.Response, error) {
	r, err := http.NewRequest(q.method, base+q.target, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	if q.body != "" {
		r.Header.Set("Content-Type", q.contentType())
	}
	r.Header.Set("X-User", user)
	resp, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return &whittle.Response{Status: resp.StatusCode, Header: whittle.Header(resp.Header), Body: body}, err
}

// record asks the monolith and keeps the exchanges as whittle record does.
func record(t *testing.T, monolith, dir string, n int, next func(i int) request) {
	t.Helper()
	process.Record(t, monolith, dir, n, func(i int) *capture.Entry {
		q, h := next(i), whittle.Header{"Accept": {"*/*"}}
		if q.body != "" {
			h["Content-Type"] = []string{q.contentType()}
		}
		return &capture.Entry{
			Conn: 1, Served: whittle.Monolith, Request: whittle.Request{Method: q.method, Target: q.target, Host: "shop", Header: h, Body: []byte(q.body)},
		}
	})
}

// right reports whether a response is what the monolith returns to a request.
func right(c *http.Client, monolith string, q request, got *whittle.Response) error {
	want, err := ask(c, monolith, q, "judge")
	if err != nil {
		return err
	}
	switch {
	case got.Status != want.Status, got.Header.Get("Content-Type") != want.Header.Get("Content-Type"), got.Header.Get("Location") != want.Header.Get("Location"):
		return fmt.Errorf("%s %s: %d %v, want %d %v", q.method, q.target, got.Status, got.Header, want.Status, want.Header)
	case strings.HasPrefix(string(want.Body), "Counted to "):
		var a int
		if _, err := fmt.Sscanf(string(got.Body), "Counted to %d \n", &a); err != nil {
			return fmt.Errorf("%q: %w", got.Body, err)
		}
		return nil
	case strings.HasPrefix(q.target, "/events"):
		return sameBut(got.Body, want.Body, "id", "at")
	case json.Valid(want.Body):
		return sameBut(got.Body, want.Body)
	case !bytes.Equal(got.Body, want.Body):
		return fmt.Errorf("%s %s: %q, want %q", q.method, q.target, got.Body, want.Body)
	}
	return nil
}

// sameBut compares JSON without some members of a list's objects.
func sameBut(got, want []byte, without ...string) error {
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		return fmt.Errorf("%q: %w", got, err)
	}
	if err := json.Unmarshal(want, &b); err != nil {
		return err
	}
	for _, list := range []any{a, b} {
		items, _ := list.([]any)
		for _, item := range items {
			for _, name := range without {
				if _, ok := item.(map[string]any)[name]; !ok {
					return fmt.Errorf("%s has no %s", got, name)
				}
				delete(item.(map[string]any), name)
			}
		}
	}
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	if !bytes.Equal(x, y) {
		return fmt.Errorf("%s, want %s", x, y)
	}
	return nil
}
