package infer

import (
	"fmt"
	"testing"

	"whittle/contract"
	"whittle/record/capture"
)

// login is a form whose response is a redirect to a place.
func login(user, to string) *capture.Entry {
	x := status(text("POST", "/login", ""), 302)
	x.Request.Header["Content-Type"] = []string{"application/x-www-form-urlencoded"}
	x.Request.Body = []byte("user=" + user + "&password=p")
	x.Response.Header = map[string][]string{"Location": {to}, "Set-Cookie": {"sid=1"}}
	return x
}

// TestARedirectIsASuccessWhereThereIsNoOther: an endpoint that only ever redirects
// is a method with the form's fields; with a 2xx the redirect is a failure, in
// whatever order they came, and what it was asked says nothing of what is served.
func TestARedirectIsASuccessWhereThereIsNoOther(t *testing.T) {
	var only, mixed []*capture.Entry
	for i := range 30 {
		only = append(only, login(fmt.Sprint("ann", i), "/home"))
		page := status(login("bob", ""), 200)
		page.Request.Body = []byte("user=bob&code=7")
		page.Response.Header = map[string][]string{"Content-Type": {"text/plain"}}
		page.Response.Body = []byte("Welcome")
		mixed = append(mixed, only[i], page)
	}
	only = append(only, status(text("GET", "/gone", "no"), 404), status(text("GET", "/same", ""), 304))
	c := learn(t, Options{}, only...)
	if len(c.Methods) != 1 {
		t.Fatalf("methods %+v, want the login alone", patterns(c))
	}
	m := &c.Methods[0]
	if m.HTTP.Response.Status != 302 || m.HTTP.Response.Form != contract.NoBody || m.HTTP.Response.ContentType != "" || m.HTTP.Body.Form != contract.Form || len(m.HTTP.Body.Pairs) != 2 || m.Seen != 30 {
		t.Errorf("%+v, seen %d", m.HTTP, m.Seen)
	}
	c = learn(t, Options{}, mixed...)
	m = &c.Methods[0]
	if m.HTTP.Response.Status != 200 || len(m.HTTP.Body.Pairs) != 2 || m.HTTP.Body.Pairs[0].Name != "code" || m.Seen != 30 || len(m.Failures) != 1 || m.Failures[0].Status != 302 {
		t.Errorf("%+v, seen %d, failures %+v", m.HTTP, m.Seen, m.Failures)
	}
	compiles(t, c)
}
