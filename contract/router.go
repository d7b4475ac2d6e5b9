package contract

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"whittle"
)

// Router finds the endpoint of a request as net/http's mux does. It must be made with
// NewRouter.
type Router struct{ mux *http.ServeMux }

// NewRouter has no endpoint.
func NewRouter() *Router { return &Router{http.NewServeMux()} }

// registered is where net/http says that a pattern was registered: here, always.
var registered = regexp.MustCompile(` \(registered at [^)]*\)`)

// Add adds an endpoint, "GET /users/{id}". It fails where net/http does not take it, or
// could not choose between it and another one.
func (r *Router) Add(endpoint string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.New(registered.ReplaceAllString(fmt.Sprint(p), ""))
		}
	}()
	r.mux.Handle(endpoint, http.NotFoundHandler())
	return nil
}

// Of gives the endpoint of a request, and its target. "": it has none.
func (r *Router) Of(q *whittle.Request) (endpoint string, target *url.URL) {
	target, err := url.ParseRequestURI(q.Target)
	if err != nil {
		return "", nil
	}
	_, endpoint = r.mux.Handler(&http.Request{Method: q.Method, URL: target, Host: "monolith"})
	if !strings.HasPrefix(endpoint, q.Method+" ") { // a HEAD is no GET here
		return "", nil
	}
	return endpoint, target
}
