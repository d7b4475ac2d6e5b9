package scaffold

import (
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/contract"
	"whittle/contract/infer"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// oddLog has what made projects failed at: operations of GraphQL on one endpoint,
// whose data is null or not there; a path whose first segment is a parameter; a
// login by form, whose response is a redirect and a cookie and nothing else;
// and a short link, which is a redirect with a text.
func oddLog() []*capture.Entry {
	const asJSON, asForm = "application/json; charset=utf-8", "application/x-www-form-urlencoded"
	var log []*capture.Entry
	add := func(route string, e *capture.Entry) *capture.Entry {
		e.Route = route
		log = append(log, e)
		return e
	}
	operations := [][2]string{
		{`"A","variables":{"id":1}`, `"a":{"x":1}`},
		{`"B","variables":{"filter":{"q":"s","tags":[],"owner":null}}`, `"b":[1,2]`},
		{`"C","variables":{}`, `"c":null`},
		{`"D","variables":{"input":{"lines":[{"sku":"a","gift":null},{"sku":"b","gift":{"wrap":true}}]}}`, `"d":{"ok":true}`},
	}
	for i := range 40 {
		op := operations[i%4]
		add("POST /graphql", recorded("POST", "/graphql", `{"operationName":`+op[0]+`,"query":"{x}"}`, 200, asJSON, `{"data":{`+op[1]+`}}`))
		tenant := []string{"acme", "globex", "initech"}[i%3]
		add("GET /{tenant}/items", recorded("GET", "/"+tenant+"/items", "", 200, asJSON, fmt.Sprintf(`[{"id":%d,"of":%q}]`, i%3, tenant)))

		login := recorded("POST", "/login", "user=ann&password="+fmt.Sprint("p", i%7), 302, "", "")
		login.Request.Header["Content-Type"] = []string{asForm}
		login.Response.Header["Location"] = []string{"/home"}
		login.Response.Header["Set-Cookie"] = []string{fmt.Sprintf("sid=%d; Path=/; HttpOnly", i)}
		if i%7 == 3 {
			login.Response.Header = whittle.Header{"Location": {"/login?error=1"}}
		}
		add("POST /login", login)

		link := recorded("GET", fmt.Sprintf("/short/to/%d", i%5), "", 301, "text/html; charset=utf-8", fmt.Sprintf("<p>Moved Permanently. Redirecting to /articles/%d</p>", i%5))
		link.Response.Header["Location"] = []string{fmt.Sprintf("/articles/%d", i%5)}
		add("GET /short/to/{code}", link)
	}
	return log
}

func entriesOf(log []*capture.Entry) iter.Seq2[*capture.Entry, error] {
	return func(yield func(*capture.Entry, error) bool) {
		for _, e := range log {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// makeOdd infers the odd log's contract and makes a project of it. Its package has a
// part that no folder of Go's may be called.
func makeOdd(t *testing.T, dir string) (*contract.Contract, *Project) {
	t.Helper()
	log := oddLog()
	c, proof, err := infer.Learn(func() iter.Seq2[*capture.Entry, error] { return entriesOf(log) }, infer.Options{Package: "odd.internal.v1", Service: "OddService"})
	if err != nil || proof.Kept != proof.Exchanges || proof.Exchanges != len(log) {
		t.Fatalf("%+v, %v", proof, err)
	}
	p, err := Make(t.Context(), c, entriesOf(log), Options{Dir: dir, Module: "odd", Source: "a log"})
	fatal.If(t, err)
	return c, p
}

// TestOddEndpoints: a project of them starts, passes its own tests and can be read
// by the gateway, and its tests hold what no message carries.
func TestOddEndpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd")
	c, p := makeOdd(t, dir)
	statuses := map[string]int{}
	for i := range c.Methods {
		statuses[c.Methods[i].HTTP.Method+" "+c.Methods[i].HTTP.Pattern] = c.Methods[i].HTTP.Response.Status
	}
	for route, want := range map[string]int{"POST /graphql": 200, "GET /{tenant}/items": 200, "POST /login": 302, "GET /short/to/{code}": 301} {
		fatal.Same(t, statuses[route], want, "%s gets", route)
	}
	// Calls and endpoints do not get in each other's way.
	fatal.Write(t, filepath.Join(dir, "internal/server/front_test.go"), frontTest)
	fatal.If(t, p.Build(t.Context(), func(string) {}))
	f, err := readConfig(dir)
	if err != nil || len(f.Routes) != 4 {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, one := range p.Coverage {
		if one.Tests.Covered != one.Tests.Inputs || one.Plan.Covered != one.Tests.Inputs {
			t.Errorf("%s: tests %s, plan %s", one.Method, one.Tests, one.Plan)
		}
	}
	t.Run("a redirect of its own", func(t *testing.T) { redirectOfItsOwn(t, dir, c) })
}

// frontTest is put into the project.
const frontTest = `package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestFront(t *testing.T) {
	h := newTestServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		write(w, http.StatusTeapot, "text/plain", []byte("the monolith, asked for "+r.URL.Path))
	}))
	for _, c := range []struct {
		method, target, contentType, body string
		status                      int
		says                        string
	}{
		{"GET", "/acme/items", "", "", 418, "asked for /acme/items"},
		{"GET", "/odd.internal.v1.OddService/items", "", "", 418, "asked for /odd.internal.v1.OddService/items"},
		{"POST", "/odd.internal.v1.OddService/ListItems", "application/json", "{\"tenant\":\"acme\"}", 400, "asked for /acme/items"},
		{"POST", "/twirp/odd.internal.v1.OddService/ListItems", "application/json", "{\"tenant\":\"acme\"}", 400, "asked for /acme/items"},
		{"POST", "/twirp/odd.internal.v1.OddService/NoSuch", "application/json", "{}", 404, "bad_route"},
		{"GET", "/nowhere", "", "", 404, "not found"},
	} {
		got := h.http(t, &exchange{Method: c.method, Target: c.target, Type: c.contentType, Text: c.body})
		if got.status != c.status || !strings.Contains(string(got.body), c.says) {
			t.Errorf("%s %s: %d %s, want %d saying %s", c.method, c.target, got.status, got.body, c.status, c.says)
		}
	}
}
`

// redirectOfItsOwn: logic of a login's own that leads elsewhere, or forgets the cookie,
// does not pass the project's tests; with both it does.
func redirectOfItsOwn(t *testing.T, dir string, c *contract.Contract) {
	t.Helper()
	i := slices.IndexFunc(c.Methods, func(m contract.Method) bool { return m.HTTP.Pattern == "/login" })
	m := c.Methods[i]
	const to, cookie = `delegate.Header(ctx).Set("Location", "/home");`, `delegate.Header(ctx).Add("Set-Cookie", "sid=x; Path=/; HttpOnly")`
	forms := []struct{ body, says string }{
		{to + cookie, ""},
		{cookie, `the header Location is "", want "/home"`},
		{to, `no header Set-Cookie sets "sid"`},
		{`delegate.Header(ctx).Set("Location", "/away");` + cookie, `the header Location is "/away", want "/home"`},
	}
	var logic strings.Builder
	for n, form := range forms { // in one program, which is built once
		fmt.Fprintf(&logic, "\tcase \"%d\":\n\t\t%s\n", n, form.body)
	}
	text := fmt.Sprintf(`package service

import (
	"context"
	"os"

	oddv1pb "odd/internal/gen/odd/internalpb/v1"
	"odd/internal/delegate"
)

// %[1]s is the login.
func (s *OddService) %[1]s(ctx context.Context, in *oddv1pb.%[1]sRequest) (*oddv1pb.%[1]sResponse, error) {
	if in.GetPassword() == "p3" {
		delegate.Header(ctx).Set("Location", "/login?error=1")
		return &oddv1pb.%[1]sResponse{}, nil
	}
	switch os.Getenv("LOGIN") {
%[2]s	}
	return &oddv1pb.%[1]sResponse{}, nil
}
`, m.Name, logic.String())
	fatal.Write(t, filepath.Join(dir, "internal/service", strings.ToLower(m.Name)+".go"), text)
	tests := filepath.Join(t.TempDir(), "server.test")
	if _, err := goTool(t.Context(), dir, nil, "test", "-c", "-o", tests, "./internal/server"); err != nil {
		t.Fatal(err)
	}
	for n, form := range forms {
		cmd := exec.CommandContext(t.Context(), tests)
		cmd.Dir = filepath.Join(dir, "internal/server")
		cmd.Env = append(os.Environ(), fmt.Sprintf("LOGIN=%d", n))
		out, err := cmd.CombinedOutput()
		if (err == nil) != (form.says == "") || err != nil && !strings.Contains(string(out), form.says) {
			t.Errorf("%s: %v, want it to say %q\n%s", form.body, err, form.says, out)
		}
	}
}
