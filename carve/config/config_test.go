package config

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"whittle"
	"whittle/internal/fatal"
)

var update = flag.Bool("update", false, "write the golden files anew")

// countDescriptor is the contract of the count service, and a stream.
func countDescriptor(t testing.TB) []byte {
	t.Helper()
	const text = `syntax = "proto3";
package twirp.carved;
message Times { int32 times = 1; }
message Sum { int64 Sum = 1; }
service Carved {
  rpc Count(Times) returns (Sum);
  rpc Follow(Times) returns (stream Sum);
}`
	source := protocompile.SourceAccessorFromMap(map[string]string{"count.proto": text})
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{Accessor: source}}
	files, err := compiler.Compile(t.Context(), "count.proto")
	fatal.If(t, err)
	b, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])}})
	fatal.If(t, err)
	return b
}

// readable gives the files that the tests' configs name.
func readable(t testing.TB) func(string) ([]byte, error) {
	files := map[string][]byte{
		"count.binpb": countDescriptor(t),
		"empty.binpb": {},
		"noise.binpb": []byte("not a descriptor"),
		"token":       []byte("0123456789abcdef0123456789abcdef\n"),
		"short.token": []byte("secret"),
		"other.token": []byte("0123456789abcdéf"),
		"hook":        []byte("https://hooks.slack.example/services/T0/B0/secret\n"),
	}
	return func(path string) ([]byte, error) {
		b, ok := files[filepath.ToSlash(path)]
		if !ok {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return b, nil
	}
}

func mustParse(t testing.TB, src string) *File {
	t.Helper()
	f, err := Parse("whittle.yaml", []byte(src), readable(t))
	fatal.If(t, err)
	return f
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		fatal.If(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want := []byte(fatal.Read(t, path))
	if got != string(want) {
		t.Errorf("%s differs; go test ./carve/config -update writes it anew\n got:\n%s\nwant:\n%s", path, got, want)
	}
}

// TestGolden holds the texts that an operator reads: for a config in
// testdata/*.yaml either its faults or its description.
func TestGolden(t *testing.T) {
	t.Setenv("WHITTLE_TEST_PORT", "3000")
	t.Setenv("WHITTLE_TEST_EMPTY", "")
	t.Setenv("WHITTLE_TEST_TOKEN", "fedcba9876543210fedcba9876543210")
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no configs: %v", err)
	}
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			src := []byte(fatal.Read(t, path))
			f, err := Parse("whittle.yaml", src, readable(t))
			fatal.Same(t, !strings.HasPrefix(name, "wrong-"), err == nil, "Parse = %v", err)
			var b strings.Builder
			if err != nil {
				fatal.Same(t, whittle.CodeOf(err), whittle.Invalid, "code")
				b.WriteString(err.Error() + "\n")
			} else if err := f.Describe(&b); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(path, ".yaml")+".golden", b.String())
		})
	}
}

// TestCases holds what becomes of everyday mistakes, of what is allowed and odd, and of what
// only looks like either: testdata/cases.txt has each with its errors or warnings behind it.
func TestCases(t *testing.T) {
	const path = "testdata/cases.txt"
	text := fatal.Read(t, path)
	var b strings.Builder
	for _, one := range strings.Split(text, "=== ")[1:] {
		head, _, _ := strings.Cut(one, "\n---\n")
		name, src, _ := strings.Cut(head, "\n")
		fmt.Fprintf(&b, "=== %s\n%s\n---\n", name, src)
		f, err := Parse("whittle.yaml", []byte(src), readable(t))
		switch {
		case err != nil:
			fmt.Fprintln(&b, err)
		case len(f.Warnings) == 0:
			fmt.Fprintln(&b, "good")
		default:
			fmt.Fprintln(&b, "warning: "+strings.Join(f.Warnings, "\nwarning: "))
		}
	}
	golden(t, path, b.String())
}

// TestMatches holds which texts are a match, and that another router's spelling is none: it
// would at best match its own letters.
func TestMatches(t *testing.T) {
	for _, match := range strings.Split(`/;GET /;/users/;/users/{id};/files/{rest...};/users/{$};GET /users/{id}/orders/{order_id}/;POST /v1/items:batchGet;/urn:isbn:123;/Products(1);
/Products('a')/$value;/$metadata;/odata/$batch;/a.b.c;/a-b_c~d;/@user;/a,b;/a+b;/c++;/!important;/a&b;/a=b;/%7Bid%7D;/files/%2A;/ü;/Products[1];PROPFIND /dav/{rest...};
M-SEARCH /x;VERSION-CONTROL /x;/.well-known/acme-challenge/{token};/a//b`, ";") {
		if _, err := parseMatch(match); err != nil {
			t.Errorf("%s: %v", match, err)
		}
	}
	for _, match := range strings.Fields(`/users/:id /users/:id/ /users/:userId/orders/:order_id /users/:id? /users/:id(\d+) /users/:id([0-9]{4}) /users/:id(.:format) /files/* /files/*path
/files/:rest* /files/:rest+ /files/:rest(.*) /* /flights/:from-:to /@:user /users/:id.json /users.:format /users/*/orders /a/*/b/*/c /files/*path/raw /users/{id:[0-9]+}
/users/{id:\d{4}} /files/{rest:.*} /files/{name:[^/]+} /files/{*rest} /files/{**rest} /files/{rest*} /files/{+rest} /files/{...} /files/{...rest} /files/** /files/**/raw
/users/{user-id} /users/{user.id} /users/{} /users/{id?} /users/{id=5} /users/{id:int} /files/{name=**} /files/{rest:path} /users/<id> /users/<int:id> /users/<uuid:user_id>/x
/users/<id:int> /files/<path:rest> /files/<rest..> /x/<any(a,b):which> /users/<id>.json /users/[id] /users/[id=int] /docs/[...slug] /docs/[[...slug]] /static/*.js /static/**/*.js
/ab* /users/\d+ /users/\d+$ /users/[0-9]+ /users/([0-9]+) /users/(?P<id>\d+) /files/(.*) /files/.* /files/.+ /foo(/|$)(.*) /(a|b)/c /users/{id}.json /v{version}/users
/v1/{name}:cancel /users$ /users/{id}$ /users/{id:.[0-9]+}`) {
		if _, err := parseMatch(match); err == nil || !strings.Contains(err.Error(), "a wildcard is {id} here") {
			t.Errorf("%s: %v", match, err)
		}
	}
	for _, match := range []string{
		"GET|POST /a", "GET,POST /a", "[GET] /a", "* /a", "ANY /a", "all /a", "GET", "~ ^/users",
		"GET http://h/a", "/a GET", "", "get /a", "CONNECT /a", "/a?b", "/a#b", "/a%zz", "/{a}/{a}", "/{a...}/b",
	} {
		if _, err := parseMatch(match); err == nil {
			t.Errorf("%q is taken", match)
		}
	}
}

func TestDefaults(t *testing.T) {
	ejecting := whittle.Ejection{Consecutive: 5, Base: 30 * time.Second, Most: 5 * time.Minute, Share: 5000}
	f := mustParse(t, `
monolith: http://127.0.0.1:3000
routes:
  - match: GET /a
    candidate: http://127.0.0.1:6666/v2/
  - {match: GET /b, candidate: http://127.0.0.1:6666, compare: statistical}
`)
	if len(f.Listen) != 1 || !reflect.DeepEqual(f.Listen[0], Listener{Address: ":8080"}) || f.Admin != "127.0.0.1:8081" || f.AdminToken != "" || f.State != "whittle.db" {
		t.Errorf("server %+v", f)
	}
	if want := (whittle.Upstream{
		URL: "http://127.0.0.1:3000", ConnectTimeout: 5 * time.Second, Ejection: ejecting, Panic: 5000, Timeout: time.Minute, ReadTimeout: time.Minute,
		StreamTimeout: time.Hour, WriteTimeout: time.Minute, WaitTimeout: 10 * time.Second, MaxResponse: 4 << 20, MaxConns: 1024,
	}); !reflect.DeepEqual(f.Monolith, want) {
		t.Errorf("monolith %+v", f.Monolith)
	}
	want := whittle.Route{
		Name: "GET /a", Match: whittle.Match{Method: "GET", Pattern: "/a"},
		Candidate: &whittle.Upstream{
			URL: "http://127.0.0.1:6666/v2", ConnectTimeout: 5 * time.Second, Ejection: ejecting, Panic: 5000, Timeout: 5 * time.Second, ReadTimeout: time.Minute,
			StreamTimeout: time.Hour, WriteTimeout: time.Minute, WaitTimeout: 100 * time.Millisecond, MaxResponse: 4 << 20, MaxConns: 256,
		},
		Mirror: whittle.Mirror{
			Sample: 10_000, Watch: 500, Queue: 1024, Concurrency: 32, MaxBody: 256 << 10, MaxMemory: 64 << 20, ShedAbove: 3, RepeatEvery: 20,
		},
		Compare: whittle.Comparison{
			Kind: whittle.JSON, AllHeaders: true, LearnNoise: true, Value: "number in the body",
			Margin: whittle.Margin{Mean: 0.005, Spread: 1.25, Distribution: 0.1}, Confidence: 0.99, MinCompared: 300,
		},
		Rollout: whittle.Rollout{
			Auto: true, Steps: []whittle.Share{100, 500, 2500, 5000, 10_000}, Hold: 30 * time.Second, MinRequests: 50, Soak: 5 * time.Minute, Sticky: whittle.Sticky{By: "address"},
			Harm: 0.005, Unseen: whittle.UnseenMonolith,
		},
		Guard: whittle.Guard{Errors: 0.01, P99: 1.5, Mismatch: 0.001, Confidence: 0.99, Consecutive: 5, Exposure: 50},
	}
	if !reflect.DeepEqual(f.Routes[0], want) {
		t.Errorf("route\n got %+v\nwant %+v", f.Routes[0], want)
	}
	fatal.Same(t, f.Routes[1].Mirror.RepeatEvery, 0, "a statistical comparison repeats 1 in")
}

// TestEverythingIsSettable: no field of a route keeps its zero value or its
// default in a config that sets all of them, or in one that steers proxies, which a fleet cannot.
func TestEverythingIsSettable(t *testing.T) {
	t.Setenv("WHITTLE_TEST_PORT", "3000")
	src := []byte(fatal.Read(t, "testdata/everything.yaml"))
	f := mustParse(t, string(src))
	for _, path := range []string{"testdata/sink.yaml", "testdata/observer.yaml", "testdata/steered.yaml"} { // which have what nothing else goes with
		src := []byte(fatal.Read(t, path))
		f.Routes = append(f.Routes, mustParse(t, string(src)).Routes...)
	}
	whole := &mustParse(t, "monolith: http://h\nroutes: [{match: GET /a, candidate: http://c}]").Routes[0]
	left := map[string]bool{}
	for i := range f.Routes {
		changed := map[string]bool{}
		differs(reflect.ValueOf(f.Routes[i]), reflect.ValueOf(*whole), "", changed)
		for path, yes := range changed {
			if _, seen := left[path]; !seen || yes {
				left[path] = yes
			}
		}
	}
	for path, changed := range left {
		if !changed {
			t.Errorf("Route%s is at its default in every route of testdata/everything.yaml", path)
		}
	}
}

// differs notes for each leaf below v whether it is other than in def.
func differs(v, def reflect.Value, path string, into map[string]bool) {
	switch {
	case v.Kind() == reflect.Pointer:
		if v.IsNil() {
			return
		}
		zero := reflect.New(v.Type().Elem())
		differs(v.Elem(), zero.Elem(), path, into)
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			differs(v.Field(i), def.Field(i), path+"."+v.Type().Field(i).Name, into)
		}
	default:
		into[path] = !reflect.DeepEqual(v.Interface(), def.Interface())
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "whittle.yaml")
	src := "monolith: http://h\nadmin: {listen: ':9', token_file: token}\ntls: {cert: c.pem, key: /k.pem}\n"
	for name, content := range map[string]string{"whittle.yaml": src, "token": "0123456789abcdef0123456789abcdef\n"} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	f, err := Load(path)
	fatal.If(t, err)
	if f.AdminToken != "0123456789abcdef0123456789abcdef" || f.State != filepath.Join(dir, "whittle.db") {
		t.Errorf("token %q, state %q", f.AdminToken, f.State)
	}
	if tls := f.Listen[0].TLS; tls.Cert != filepath.Join(dir, "c.pem") || tls.Key != "/k.pem" {
		t.Errorf("tls %+v", tls)
	}
	if _, err := Load(filepath.Join(dir, "none.yaml")); whittle.CodeOf(err) != whittle.NotFound {
		t.Errorf("no file: %v", err)
	}
	if _, err := Load(dir); whittle.CodeOf(err) != whittle.Invalid {
		t.Errorf("a folder: %v", err)
	}
	fatal.If(t, os.WriteFile(path, make([]byte, maxSource+1), 0o600))
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "larger than 1MiB") {
		t.Errorf("a long file: %v", err)
	}
}

// TestTooMuch: what could take the process down is refused before it is parsed.
func TestTooMuch(t *testing.T) {
	for name, src := range map[string]string{
		"flow nesting":   "a: " + strings.Repeat("[", 100_000),
		"open mappings":  strings.Repeat("{a: ", 100_000),
		"dashes":         strings.Repeat("- ", 100_000),
		"indentation":    deepMapping(300),
		"settings":       strings.Repeat("a: b\n", 100_000),
		"words":          "a: [" + strings.Repeat("x,", 100_000) + "]",
		"a long file":    strings.Repeat("#", maxSource+1),
		"anchors":        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
		"merge keys":     "a: &a {b: c}\nd:\n  <<: *a\n",
		"tags":           "a: !!binary aGk=\n",
		"complex keys":   "? [a]\n: b\n",
		"two documents":  "a: b\n---\nc: d\n",
		"nothing at all": "",
		"comments alone": "# nothing\n",
		"a list":         "- a\n",
		"a word":         "a",
		"bytes":          "\x00\xff\xfe",
		"Latin-1":        "monolith: http://h\nstate: caf\xe9.db\n",
		"UTF-16":         "\xff\xfem\x00o\x00",
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse("whittle.yaml", []byte(src), readable(t))
			if err == nil {
				t.Fatalf("Parse = %+v", f)
			}
			if c := whittle.CodeOf(err); c != whittle.Invalid || !strings.HasPrefix(err.Error(), "whittle.yaml:") {
				t.Errorf("%v: %v", c, err)
			}
		})
	}
}

func deepMapping(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestLocate(t *testing.T) {
	f := mustParse(t, `monolith: http://h
routes:
  - match: GET /a
    candidate: http://c
    compare: {kind: statistical,
              per: request.times}
  - match: GET /b
    candidate: http://c
`)
	cause := errors.New("undeclared reference")
	for _, c := range []struct {
		field, want string
	}{
		{"routes[0].compare.per", "whittle.yaml:6:20: routes[0].compare.per: read per: undeclared reference"},
		{"routes[0].compare.value", "whittle.yaml:5:14: routes[0].compare.value: read per: undeclared reference"},
		{"routes[1].guard.errors", "whittle.yaml:7:5: routes[1].guard.errors: read per: undeclared reference"},
		{"routes[9].match", "whittle.yaml:3:3: routes[9].match: read per: undeclared reference"},
		{"nowhere", "whittle.yaml:1:1: nowhere: read per: undeclared reference"},
	} {
		in := whittle.Errorf(whittle.Unsupported, "read per: %w", cause).WithField(c.field).WithHint("a hint")
		err := f.Locate(in)
		fatal.Same(t, err.Error(), c.want, "the error")
		e, ok := errors.AsType[*whittle.Error](err)
		if !ok || e.Code != whittle.Unsupported || e.Hint != "a hint" || e.Field != c.field || !errors.Is(err, cause) {
			t.Errorf("%s: code, hint, field or cause is lost: %+v", c.field, e)
		}
		if twice := f.Locate(err); twice.Error() != err.Error() {
			t.Errorf("located twice: %v", twice)
		}
	}
	plain := whittle.Errorf(whittle.Invalid, "no pattern").WithField("routes[1].match")
	joined := f.Locate(errors.Join(plain, cause))
	if want := "whittle.yaml:7:12: routes[1].match: no pattern\nundeclared reference"; joined.Error() != want {
		t.Errorf("got  %s\nwant %s", joined, want)
	}
	if f.Locate(nil) != nil || f.Locate(cause).Error() != cause.Error() {
		t.Error("an error without a field has changed")
	}
}

// FuzzParse: whatever the bytes, a config that can be described, or coded
// errors that each begin with a place.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	fatal.If(f, err)
	for _, path := range files {
		src, err := os.ReadFile(path)
		fatal.If(f, err)
		f.Add(src)
	}
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("monolith: {url: http://h\n"))
	f.Add([]byte("? - {a: !b |\n"))
	read := readable(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		file, err := Parse("whittle.yaml", src, read)
		if err == nil {
			var b strings.Builder
			if err := file.Describe(&b); err != nil || b.Len() == 0 {
				t.Fatalf("not described: %v", err)
			}
			return
		}
		if c := whittle.CodeOf(err); c != whittle.Invalid {
			t.Fatalf("code %v: %v", c, err)
		}
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) > maxProblems+1 {
			t.Fatalf("not a join of at most %d: %v", maxProblems+1, err)
		}
		for _, e := range joined.Unwrap() {
			if !strings.HasPrefix(e.Error(), "whittle.yaml:") {
				t.Fatalf("without a place: %v", e)
			}
		}
	})
}

// TestParseWithoutFiles: a config that is parsed with no way to read files names the fields that
// need one.
func TestParseWithoutFiles(t *testing.T) {
	for field, text := range map[string]string{
		"routes[0].candidate.rpc.descriptor": "routes: [{name: a, match: POST /a, candidate: {url: http://c, rpc: {protocol: twirp, descriptor: d.binpb, method: p.S/M}}}]",
		"admin.token_file":                   "admin: {token_file: t}",
		"fleet.credentials":                  "fleet: {nats: nats://n, name: shop, credentials: c}",
	} {
		_, err := Parse("w.yaml", []byte("monolith: http://h\n"+text+"\n"), nil)
		if err == nil || !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), "without files") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// TestWhichHeadersAreCompared: all by default, only those of a list, or all but some
// and some that servers add.
func TestWhichHeadersAreCompared(t *testing.T) {
	for _, tc := range []struct {
		text         string
		all          bool
		names        []string
		except       []string
		yes, no, out string // compared, not, and only listed
	}{
		{"{kind: json}", true, nil, nil, "X-Total-Count Link Location", "Date", "Server Etag X-Acme-Request-Id Cf-Ray"},
		{"{headers: all}", true, nil, nil, "X-Total-Count", "Content-Length", "Server"},
		{"{headers: []}", false, nil, nil, "", "Link Server", ""},
		{"{headers: [link, Link, etag]}", false, []string{"Link", "Etag"}, nil, "Link Etag", "Location Server", ""},
		{"{headers: {except: [x-build, Server]}}", true, nil, []string{"X-Build", "Server"}, "Link", "X-Build Server", "Via"},
		{"{headers: {also: [etag]}}", true, []string{"Etag"}, nil, "Etag Link", "Date", "Server"},
	} {
		f := mustParse(t, "monolith: http://m\nroutes: [{match: /a, candidate: \"http://c\", compare: "+tc.text+"}]")
		c := &f.Routes[0].Compare
		if c.AllHeaders != tc.all || !slices.Equal(c.Headers, tc.names) || !slices.Equal(c.ExceptHeaders, tc.except) {
			t.Errorf("%s: %t %q but %q", tc.text, c.AllHeaders, c.Headers, c.ExceptHeaders)
		}
		hold(t, tc.text, tc.yes, c.ComparesHeader, true)
		hold(t, tc.text, tc.no, c.ComparesHeader, false)
		hold(t, tc.text, tc.out, c.ComparesHeader, false)
		hold(t, tc.text, tc.out, c.ListsHeader, true)
		hold(t, tc.text, tc.yes+" "+tc.no, c.ListsHeader, false)
	}
}

func hold(t *testing.T, text, names string, of func(string) bool, want bool) {
	t.Helper()
	for _, name := range strings.Fields(names) {
		fatal.Same(t, of(name), want, "%s: %s", text, name)
	}
}

// TestNoHeaderOfAClientIsAddedByServers: what clients act on is compared by default, but for Expires,
// which says nothing next to Cache-Control.
func TestNoHeaderOfAClientIsAddedByServers(t *testing.T) {
	c := whittle.Comparison{AllHeaders: true}
	for _, name := range strings.Fields("Location Set-Cookie Cache-Control Www-Authenticate Content-Disposition Content-Language Content-Location Link " +
		"X-Total-Count X-Total-Pages X-Next-Page X-Has-More Retry-After Allow Vary Content-Range Refresh Clear-Site-Data Deprecation Sunset Warning " +
		"Access-Control-Allow-Origin Access-Control-Allow-Credentials Access-Control-Allow-Methods Access-Control-Allow-Headers Access-Control-Expose-Headers Access-Control-Max-Age " +
		"X-Csrf-Token X-Auth-Token X-Robots-Tag Idempotency-Key X-Api-Version Operation-Location Api-Supported-Versions Hx-Redirect Hx-Trigger X-Inertia Timing-Allow-Origin Authentication-Info") {
		if !c.ComparesHeader(name) || whittle.AddedByServers(name) {
			t.Errorf("%s is not compared", name)
		}
	}
}
