package infer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// TestHeadersOfResponses are listed, with which of them the gateway compares, and
// what says who asked.
func TestHeadersOfResponses(t *testing.T) {
	var log []*capture.Entry
	for i := range 20 {
		x := entry("GET", fmt.Sprintf("/users/%d", i), "", fmt.Sprintf(`{"id":%d}`, i))
		if i < 7 {
			x.Request.Header["Cookie"] = []string{"session=1"}
		}
		x.Response.Header["Vary"] = []string{"Cookie"}
		x.Response.Header["Etag"] = []string{"1"}
		x.Response.Header["X-Total-Count"] = []string{"7"}
		if i%2 == 0 {
			x.Response.Header["Cache-Control"] = []string{"no-store"}
		}
		log = append(log, x)
	}
	got := map[string]string{}
	for _, g := range learn(t, Options{}, log...).Methods[0].Guesses {
		if strings.Contains(g.Path, " header ") {
			got[g.Path] = g.Evidence
		}
	}
	if want := map[string]string{
		"request header Cookie":         "7 of 20 requests have it; where the response depends on it, logic of your own reads delegate.RequestHeader(ctx)",
		"response header Cache-Control": "10 of 20 responses have it; it is compared, so logic of your own has to set it",
		"response header Vary":          "20 of 20 responses have it; it is compared, so logic of your own has to set it",
		"response header X-Total-Count": "20 of 20 responses have it; it is compared, so logic of your own has to set it",
	}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

// sameNumbers holds a contract to an earlier one: a number never stands for something else.
func sameNumbers(t *testing.T, before, after *contract.Contract) {
	t.Helper()
	for _, m := range before.Messages {
		now := after.Message(m.Name)
		if now == nil {
			continue // nothing refers to it any more: the field that did is reserved
		}
		for _, n := range m.Reserved {
			if !slices.Contains(now.Reserved, n) {
				t.Fatalf("%s forgot that %d is reserved", m.Name, n)
			}
		}
		for _, f := range m.Fields {
			i := slices.IndexFunc(now.Fields, func(is contract.Field) bool { return is.Number == f.Number })
			if i < 0 {
				if !slices.Contains(now.Reserved, f.Number) {
					t.Fatalf("%s lost %s = %d:\n%s\n%s", m.Name, f.Name, f.Number, before.Proto(), after.Proto())
				}
				continue
			}
			switch is := &now.Fields[i]; {
			case is.Name != f.Name || is.JSONName() != f.JSONName():
				t.Fatalf("%s.%s = %d is %s now", m.Name, f.Name, f.Number, is.Name)
			case is.Type != f.Type && (f.Type != contract.Int32 || is.Type != contract.Int64) || is.Repeated != f.Repeated || is.Map != f.Map || is.Ref != f.Ref:
				t.Fatalf("%s.%s = %d was %+v and is %+v", m.Name, f.Name, f.Number, f, *is)
			}
		}
	}
}

// TestGroupsAreTheContractsEndpoints: what a contract would be made of groups the
// same exchanges, and what has no success, or is a file, has a group or none.
func TestGroupsAreTheContractsEndpoints(t *testing.T) {
	var log []*capture.Entry
	for i := range 30 {
		log = append(log,
			entry("GET", fmt.Sprintf("/users/%d/orders", i), "", fmt.Sprintf(`[{"id":%d,"total":1}]`, i)),
			entry("GET", fmt.Sprintf("/articles/%s-light", string(rune('a'+i%26))+string(rune('a'+i/26))), "", fmt.Sprintf(`{"title":"t%d","words":%d}`, i, i)),
			entry("GET", "/users/me", "", `{"name":"ann"}`),
			status(entry("GET", "/none", "", `{"error":1}`), 404),
		)
	}
	g, err := Group(of(log...))
	fatal.If(t, err)
	for target, want := range map[string]string{
		"/users/7/orders":        "GET /users/{user_id}/orders",
		"/users/4711/orders?a=1": "GET /users/{user_id}/orders",
		"/users/me":              "GET /users/me",
		"/articles/aa-light":     "GET /articles/{article}",
		"/articles/never-seen":   "GET /articles/{article}",
		"/none":                  "GET /none",
		"/other/aa-light":        "",
		"/users/ann/orders":      "",
		"no target":              "",
	} {
		fatal.Same(t, g.Of("GET", target), want, "GET %s is of", target)
	}
	fatal.Same(t, g.Of("POST", "/users/7/orders"), "", "a POST is of")
	c := learn(t, Options{}, log[:120]...)
	names := slices.Collect(maps.Values(g.byKey))
	for _, pattern := range c.Endpoints() {
		if !slices.Contains(names, pattern) {
			t.Errorf("the contract has %q and no group is it: %v", pattern, g.byKey)
		}
	}
}

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
		t.Fatalf("methods %+v, want the login alone", c.Endpoints())
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

// entry is an exchange whose bodies are JSON, or the content type says what.
func entry(method, target, request, response string) *capture.Entry {
	x := &capture.Entry{
		At:       time.Unix(1_700_000_000, 0),
		Request:  whittle.Request{Method: method, Target: target, Host: "shop.example", Header: whittle.Header{}, Body: []byte(request)},
		Response: whittle.Response{Status: 200, Header: whittle.Header{"Content-Type": {"application/json"}}, Body: []byte(response)},
	}
	if request != "" {
		x.Request.Header["Content-Type"] = []string{"application/json"}
	}
	return x
}

// text is an exchange whose response is a text.
func text(method, target, response string) *capture.Entry {
	x := entry(method, target, "", response)
	x.Response.Header["Content-Type"] = []string{"text/html; charset=utf-8"}
	return x
}

func status(x *capture.Entry, status int) *capture.Entry {
	x.Response.Status = status
	return x
}

func of(entries ...*capture.Entry) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		for _, x := range entries {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// learn infers a contract that every one of the entries must fit.
func learn(t *testing.T, o Options, entries ...*capture.Entry) *contract.Contract {
	t.Helper()
	c, err := Infer(of(entries...), o)
	fatal.If(t, err)
	p, err := verify.Check(of(entries...), c)
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Proto())
	}
	if len(p.Broken) > 0 || p.Kept != p.Exchanges {
		t.Fatalf("%d of %d exchanges came back the same; broken: %+v\n%s\n%+v", p.Kept, p.Exchanges, p.Broken, c.Proto(), c.Methods)
	}
	return c
}

// methodOf finds a method by its name.
func methodOf(t *testing.T, c *contract.Contract, name string) *contract.Method {
	t.Helper()
	i := slices.IndexFunc(c.Methods, func(m contract.Method) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("there is no method %s in\n%s", name, c.Proto())
	}
	return &c.Methods[i]
}

// compiles holds that a compiler makes the descriptor of the .proto file.
func compiles(t *testing.T, c *contract.Contract) {
	t.Helper()
	set, err := c.Descriptor()
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Proto())
	}
	source := map[string]string{c.FileName(): string(c.Proto())}
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(source)})}
	files, err := compiler.Compile(t.Context(), c.FileName())
	if err != nil {
		t.Fatalf("%v\n%s", err, c.Proto())
	}
	want := proto.CloneOf(set.File[len(set.File)-1])
	want.SourceCodeInfo = nil // the comments
	if got := protodesc.ToFileDescriptorProto(files[0]); !proto.Equal(got, want) {
		t.Fatalf("compiled it is\n%s\nand described\n%s", prototext.Format(got), prototext.Format(want))
	}
}
