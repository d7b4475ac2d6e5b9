package scaffold

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/carve/config"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/contract/infer/verify"
	"whittle/contract/openapi"
	"whittle/internal/fatal"
	"whittle/record/capture"
)

// outcome is what became of one form that a source may have.
type outcome string

// Right: the exchange goes through the contract, through the gateway's config that
// was made, and comes back the same. Refused: the source says that it was left out.
// Wrong: neither, which no form may be.
const (
	right   outcome = "right"
	refused outcome = "refused"
	wrong   outcome = "silently wrong"
)

// errLeft says that the gateway leaves a request to the monolith, and counts it.
var errLeft = errors.New("the gateway makes no call of it")

// withOperation is an OpenAPI document with one operation, GET unless the path says
// otherwise, whose parameters are all strings.
func withOperation(server, path string) string {
	method := "get"
	if m, p, ok := strings.Cut(path, " "); ok && strings.ToUpper(m) == m {
		method, path = strings.ToLower(m), p
	}
	var params strings.Builder
	seen := map[string]bool{}
	for _, m := range regexp.MustCompile(`\{([^{}]*)\}`).FindAllStringSubmatch(path, -1) {
		if !seen[m[1]] {
			seen[m[1]] = true
			fmt.Fprintf(&params, "\n        - {name: %q, in: path, required: true, schema: {type: string}}", m[1])
		}
	}
	list := ""
	if params.Len() > 0 {
		list = "\n      parameters:" + params.String()
	}
	return fmt.Sprintf(`openapi: 3.0.3
info: {title: Odd, version: "1"}
servers: [{url: %q}]
paths:
  %q:
    %s:%s
      responses: {"200": {description: ok, content: {application/json: {schema: {type: object, required: [ok], properties: {ok: {type: boolean}}}}}}}
`, server, path, method, list)
}

// openAPIPaths are paths as documents have them, and a request of each as its clients send it.
var openAPIPaths = []struct {
	path, target string
	want         outcome
}{
	{"/items", "/items", right},
	{"/", "/", right},
	{"/items/", "/items/", right},
	{"/items/{id}/", "/items/7/", right},
	{"/{tenant}/items", "/acme/items", right},
	{"/{tenant}", "/acme", right},
	{"/{tenant}/{project}", "/acme/x", right},
	{"/{a}/{b}/{c}/{d}", "/1/2/3/4", right},
	{"/{tenant}/users/{id}/orders/{order}", "/acme/users/1/orders/2", right},
	{"/users/{user-id}", "/users/7", right},
	{"/users/{userId}", "/users/7", right},
	{"/users/{UserID}", "/users/7", right},
	{"/users/{user_id}", "/users/7", right},
	{"/users/{1st}", "/users/7", right},
	{"/users/{id}/friends/{id}", "/users/7/friends/8", right},
	{"/users/{user.id}", "/users/7", right},
	{"/users/{$id}", "/users/7", right},
	{"/users/{type}", "/users/7", right},
	{"/users/{名前}", "/users/7", right},
	{"/users/{id}", "/users/a%2Fb", right},
	{"/users/{id}", "/users/a%20b%C3%A9", right},
	{"/users/{id}", "/users/.hidden", right},
	{"/users/me", "/users/me", right},
	{"/items:batchGet", "/items:batchGet", right},
	{"POST /items:search", "/items:search", right},
	{"/a%20b", "/a%20b", right},
	{"/a%2Fb", "/a%2Fb", right},
	{"/caf%C3%A9", "/caf%C3%A9", right},
	{"/café", "/caf%C3%A9", right},
	{"/~ann/home", "/~ann/home", right},
	{"/v1.0/items", "/v1.0/items", right},
	{"/a+b/c,d/e=f/@g", "/a+b/c,d/e=f/@g", right},
	{"/Items('x')", "/Items('x')", right},
	{"/a&b", "/a&b", right},
	{"/a*b", "/a*b", right},
	{"/a!b$c", "/a!b$c", right},
	{"/odd.v1.OddService/{x}", "/odd.v1.OddService/7", right},
	{"/.well-known/openid-configuration", "/.well-known/openid-configuration", right},
	{"DELETE /items/{id}", "/items/7", right},
	{"PUT /{tenant}", "/acme", right},
	{"PATCH /items/{id}", "/items/7", right},
	// What no pattern of net/http, or no message, can say.
	{"/items/{id}.json", "/items/7.json", refused},
	{"/items/{id}:archive", "/items/7:archive", refused},
	{"/items/v{version}", "/items/v7", refused},
	{"/Users({id})", "/Users(7)", refused},
	{"/{a}-{b}", "/1-2", refused},
	{"/range/{from}..{to}", "/range/1..2", refused},
	{"/v1/{name=projects/*}", "/v1/projects/7", refused},
	{"/{proxy+}", "/a/b/c", refused},
	{"/files/{path*}", "/files/a/b", refused},
	{"/files/{+path}", "/files/a/b", refused},
	{"/files/{path...}", "/files/a/b", refused},
	{"/files/{/path}", "/files//a", refused},
	{"/users/{;id}", "/users/;id=7", refused},
	{"/users/{.id}", "/users/.7", refused},
	{"/users/{?q}", "/users/?q=7", refused},
	{"/files/{path:.*}", "/files/a/b", refused},
	{"/users/{id:[0-9]+}", "/users/7", refused},
	{"/users/{}", "/users/7", refused},
	{"/users/{ }", "/users/7", refused},
	{"/users/{id", "/users/7", refused},
	{"/users/{{id}}", "/users/7", refused},
	{"/a b", "/a%20b", refused},
	{"/items?kind=a", "/items?kind=a", refused},
	{"/items#made", "/items", refused},
	{"/items//{id}", "/items//7", refused},
	{"//items", "//items", refused},
	{"/items/../other", "/items/../other", refused},
	{"/items/./x", "/items/./x", refused},
	{"/a%zz", "/a%25zz", refused},
	{"HEAD /items", "/items", refused},
	{"OPTIONS /items", "/items", refused},
	{"TRACE /items", "/items", refused},
}

// configOf is what the gateway reads of a contract's project, which is not built.
func configOf(c *contract.Contract, dir string) (*config.File, error) {
	v, err := newView(c, Options{Dir: dir, Module: "odd", Monolith: "http://127.0.0.1:3000"})
	if err != nil {
		return nil, err
	}
	files, err := v.files()
	for _, f := range files {
		if f.path == configName || f.path == routesName || strings.HasSuffix(f.path, ".binpb") {
			err = errors.Join(err, put(filepath.Join(dir, f.path), f.content))
		}
	}
	if err != nil {
		return nil, err
	}
	return readConfig(dir)
}

// tried makes of a contract, without building it, what the gateway reads, and sends
// an exchange through it: as a message and back.
func tried(t *testing.T, c *contract.Contract, e *capture.Entry) error {
	t.Helper()
	f, err := configOf(c, t.TempDir())
	if err != nil {
		return err
	}
	mux, by := http.NewServeMux(), map[string]whittle.Route{}
	for _, r := range f.Routes {
		by[r.Name] = r
		mux.Handle(r.Name, http.NotFoundHandler())
	}
	u, err := url.ParseRequestURI(e.Request.Target)
	if err != nil {
		return err
	}
	_, pattern := mux.Handler(&http.Request{Method: e.Request.Method, URL: u, Host: "monolith"})
	r, ok := by[pattern]
	if !ok {
		return fmt.Errorf("no route takes %s %s, of %v", e.Request.Method, e.Request.Target, by)
	}
	tr, err := transcode.New(*r.RPC, transcode.Pattern(r.Match.Pattern))
	if err != nil {
		return err
	}
	if _, err := tr.Request(&e.Request); err != nil {
		return fmt.Errorf("%w: %w", errLeft, err)
	}
	p, err := verify.Check(entriesOf([]*capture.Entry{e}), c)
	if err != nil || p.Exchanges != 1 || p.Kept != 1 {
		return fmt.Errorf("the exchange does not come back: %+v, %w", p, err)
	}
	return nil
}

// TestOpenAPIPaths: of every form of path that documents have, a contract has it
// right or says that it left it out.
func TestOpenAPIPaths(t *testing.T) {
	count := map[outcome]int{}
	for _, one := range openAPIPaths {
		method := "GET"
		if m, _, ok := strings.Cut(one.path, " "); ok && strings.ToUpper(m) == m && m != "" && !strings.HasPrefix(m, "/") {
			method = m
		}
		e := recorded(method, "/v1"+one.target, "", 200, "application/json", `{"ok":true}`)
		got, why := outcomeOf(t, withOperation("https://api.example.com/v1/", one.path), e)
		count[got]++
		fatal.Same(t, got, one.want, "%s: %v", one.path, why)
	}
	inDocs(t, fmt.Sprintf("| paths of OpenAPI documents | %d | %d | %d | %d |", count[right]+count[refused]+count[wrong], count[right], count[refused], count[wrong]))
}

func outcomeOf(t *testing.T, text string, e *capture.Entry) (outcome, error) {
	t.Helper()
	c, err := openapi.Read("openapi.yaml", []byte(text), nil)
	if err != nil {
		return refused, err
	}
	if len(c.Methods) == 0 {
		return wrong, fmt.Errorf("nothing was said")
	}
	if err := tried(t, c, e); err != nil {
		if whittle.CodeOf(err) == whittle.Invalid && strings.Contains(err.Error(), "make project") {
			return refused, err
		}
		return wrong, err
	}
	return right, nil
}

// inDocs holds a line of docs/new.md to what was counted.
func inDocs(t *testing.T, line string) {
	t.Helper()
	if !slices.Contains(strings.Split(fatal.Read(t, "../../docs/new.md"), "\n"), line) {
		t.Errorf("docs/new.md does not have the line\n%s", line)
	}
}
