package newservice

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// odd is a monolith of endpoints that made services failed at once: a login that
// is responded with a redirect, a cookie and no body, a short link, and a path
// that begins with a parameter.
func odd() http.Handler {
	mux := http.NewServeMux()
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
	mux.HandleFunc("GET /{tenant}/items", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `[{"id":1,"of":%q}]`, r.PathValue("tenant"))
	})
	return mux
}

var oddRequests = map[string]func(i int) request{
	"POST /login": func(i int) request {
		password := []string{"right", "wrong", "right again"}[i%3]
		return request{"POST", "/login", url.Values{"user": {fmt.Sprint("ann", i%11)}, "password": {password}}.Encode()}
	},
	"GET /go/to/{code}": func(i int) request { return request{"GET", fmt.Sprint("/go/to/", 100+i%7), ""} },
	"GET /{tenant}/items": func(i int) request {
		return request{"GET", "/" + []string{"acme", "globex", "initech"}[i%3] + "/items", ""}
	},
}

// TestRedirectsAndPathsOfParameters walks endpoints that no contract could be made
// of, or no service start with, to all users.
func TestRedirectsAndPathsOfParameters(t *testing.T) {
	server := httptest.NewServer(odd())
	t.Cleanup(server.Close)
	routes := []string{"POST /login", "GET /go/to/{code}", "GET /{tenant}/items"}
	dir, m := newProject(t, server.URL, 300, func(i int) request { return oddRequests[routes[i%3]](i / 3) },
		"--route", routes[0], "--route", routes[1], "--route", routes[2], "--safe", routes[0])
	if len(m.Methods) != 3 {
		t.Errorf("endpoints: %+v", m.Methods)
	}
	walk(t, server.URL, dir, oddRequests, true)
}
