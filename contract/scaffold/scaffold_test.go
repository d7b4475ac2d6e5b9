package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/config"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/record/capture"
	"whittle/whittletest"
)

func makeShop(t *testing.T, dir string, c *contract.Contract) *Project {
	t.Helper()
	p, err := Make(t.Context(), c, shopLog(), Options{Dir: dir, Module: "example.com/team/shop", Source: "a log"})
	fatal.If(t, err)
	return p
}

func read(t *testing.T, dir, path string) string {
	t.Helper()
	return fatal.Read(t, filepath.Join(dir, path))
}

// TestTheProjectBuildsAndPassesItsTests holds what whittle new promises, for
// four endpoints of four shapes, in an empty folder outside the repository.
func TestTheProjectBuildsAndPassesItsTests(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "shop")
	p := makeShop(t, dir, shopContract())
	if p.Name != "shop" || p.Exchanges < 15 || len(p.Kept) > 0 {
		t.Errorf("%d exchanges, kept %v", p.Exchanges, p.Kept)
	}
	theyAgree(t, dir)
	fatal.If(t, p.Build(t.Context(), func(string) {}))
	if out, err := goTool(t.Context(), dir, nil, "mod", "tidy", "-diff"); err != nil {
		t.Errorf("go.mod and go.sum are not what go mod tidy makes: %v\n%s", err, out)
	}
	if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", dir).Output(); err != nil || len(out) > 0 {
		t.Errorf("not gofmt'ed: %s, %v", out, err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".go") && strings.Contains(string(b), `"whittle`) {
			t.Errorf("%s imports whittle", path)
		}
		if strings.Contains(string(b), "[[.") || strings.Contains(string(b), "<no value>") {
			t.Errorf("%s has a hole", path)
		}
		return err
	})
	fatal.If(t, err)
	theGatewayTakesIt(t, dir)
	for path, want := range map[string]string{
		"proto/shop/v1/shop.proto":                `go_package = "example.com/team/shop/internal/gen/shop/v1;shopv1pb"`,
		"internal/gen/shop/v1/shop.pb.go":         "// Range 0 to 10000000.",
		"internal/gen/shop/v1/shop.connect.go":    "NewShopServiceHandler",
		"internal/service/count.go":               "return s.delegateCount(ctx, in)",
		"CONTRACT.md":                             "| `response` | a number in a text | text | 20 of 20 responses |",
		"Dockerfile":                              "distroless",
		".github/workflows/ci.yml":                "make test",
		"internal/server/testdata/Count/001.json": `{\"times\":10}",` + "\n  \"header\": {\n    \"Cookie\": \"session=redacted-3f9a2c81d04e\"",
		"internal/server/zz_routes.go":            `handle(mux, p, "ListEvents", s.ListEvents)`,
		"internal/server/recorded_test.go":        `"ListEvents": []string{"$[*].id", "$[*].at"}`,
	} {
		if got := read(t, dir, path); !strings.Contains(got, want) {
			t.Errorf("%s has no %q:\n%s", path, want, got)
		}
	}
}

// theGatewayTakesIt reads the config and the plan as whittle does.
func theGatewayTakesIt(t *testing.T, dir string) {
	t.Helper()
	f, err := config.Load(filepath.Join(dir, "whittle.yaml"))
	fatal.If(t, err)
	for _, r := range f.Routes {
		if _, err := transcode.New(*r.RPC, transcode.Pattern(r.Match.Pattern)); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if _, err := compare.NewJudge(r.Compare); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	if len(f.Routes) != 4 || f.Routes[0].Compare.Kind != whittle.Statistical || !f.Routes[0].Safe || f.Routes[1].Safe ||
		len(f.Routes[0].RPC.Words) != 0 || f.Routes[3].RPC.Words["STATE_IN_WORK"] != "in work" {
		t.Errorf("routes %+v", f.Routes)
	}
	if _, err := load.ReadPlan(filepath.Join(dir, "load.yaml")); err != nil {
		t.Errorf("load.yaml: %v", err)
	}
}

// TestAgain holds that a second run changes what is whittle's, keeps what a
// person has changed, and removes what is no more.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	makeShop(t, dir, shopContract())
	if p := makeShop(t, dir, shopContract()); len(p.Written)+len(p.Kept) > 0 || len(p.Same) < 40 {
		t.Errorf("the same again: wrote %v, kept %v, %d the same", p.Written, p.Kept, len(p.Same))
	}

	handler := filepath.Join(dir, "internal/service/count.go")
	mine := strings.Replace(read(t, dir, "internal/service/count.go"), "return s.", "// mine\n\treturn s.", 1)
	fatal.Write(t, handler, mine)
	fatal.If(t, os.Remove(filepath.Join(dir, "Dockerfile")))
	grown := shopContract()
	grown.Methods = grown.Methods[:3] // without ListEvents
	grown.Messages[0].Fields = append(grown.Messages[0].Fields, contract.Field{Name: "seed", Number: 2, Type: contract.Int64, Optional: true})
	p := makeShop(t, dir, grown)
	if !slices.Equal(p.Kept, []string{"Dockerfile", "internal/service/count.go"}) || read(t, dir, "internal/service/count.go") != mine {
		t.Errorf("kept %v", p.Kept)
	}
	if !slices.Contains(p.Written, "internal/gen/shop/v1/shop.pb.go") || !strings.Contains(read(t, dir, "internal/gen/shop/v1/shop.pb.go"), "GetSeed") {
		t.Errorf("wrote %v", p.Written)
	}
	for _, gone := range []string{"internal/service/listevents.go", "internal/server/testdata/ListEvents/001.json"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	if before, err := Before(dir, ""); err != nil || len(before.Messages[0].Fields) != 2 || before.Message("Gift").Reserved[0] != 2 {
		t.Errorf("Before = %+v, %v", before, err)
	}

	// A contract that a person has changed is theirs.
	proto := filepath.Join(dir, "proto/shop/v1/shop.proto")
	fatal.Write(t, proto, "// mine\n"+read(t, dir, "proto/shop/v1/shop.proto"))
	newer := shopContract()
	newer.Methods[1].Safe = true
	p = makeShop(t, dir, newer)
	if !p.Frozen || !p.Contract.Methods[1].Safe || slices.Contains(p.Written, "internal/gen/shop/v1/shop.pb.go") || !strings.HasPrefix(read(t, dir, "proto/shop/v1/shop.proto"), "// mine\n") {
		t.Errorf("frozen %v, wrote %v", p.Frozen, p.Written)
	}
	// No other file is of another contract than theirs: it still builds.
	if _, err := os.Stat(filepath.Join(dir, "internal/service/listevents.go")); err == nil || len(p.Contract.Methods) != 3 {
		t.Errorf("there is a method that their contract does not have: %v, %d methods", err, len(p.Contract.Methods))
	}
	if out, err := goTool(t.Context(), dir, nil, "vet", "./..."); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMakeRefuses: a folder of somebody's, and a module that is none, are refused by the scripts
// of whittle new.
func TestMakeRefuses(t *testing.T) {
	broken := t.TempDir()
	fatal.Write(t, filepath.Join(broken, manifestName), "{")
	overlapping := shopContract()
	overlapping.Methods[0].HTTP.Method, overlapping.Methods[0].HTTP.Pattern = "GET", "/greetings/ann/{rest...}"
	twice := shopContract()
	twice.Messages[1].Fields = append(twice.Messages[1].Fields, twice.Messages[1].Fields[0])
	for _, c := range []struct {
		name, dir string
		c         *contract.Contract
		says      string
	}{
		{"a broken manifest", broken, shopContract(), manifestName},
		{"nothing", t.TempDir(), &contract.Contract{Package: "a.v1", Service: "A"}, "no method"},
		{"endpoints that overlap", t.TempDir(), overlapping, "/greetings/"},
		{"a contract that is none", t.TempDir(), twice, "sum"},
	} {
		_, err := Make(t.Context(), c.c, nil, Options{Dir: c.dir})
		whittletest.Refused(t, err, whittle.Invalid, c.name, c.says)
	}
}

// TestWithoutGo: what needs no Go is written, and the next run goes on.
func TestWithoutGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	path := os.Getenv("PATH")
	t.Setenv("PATH", t.TempDir())
	_, err := Make(t.Context(), shopContract(), nil, Options{Dir: dir})
	e, ok := errors.AsType[*whittle.Error](err)
	if !ok || e.Code != whittle.Unavailable || !strings.Contains(e.Hint, "https://go.dev/dl/") {
		t.Fatalf("Make = %v", err)
	}
	t.Setenv("PATH", path)
	p, err := Make(t.Context(), shopContract(), nil, Options{Dir: dir})
	if err != nil || len(p.Kept) > 0 || !slices.Contains(p.Written, "internal/gen/shop/v1/shop.pb.go") {
		t.Fatalf("Make again = %+v, %v", p, err)
	}
}

// TestMain has the projects compiled without the names of their folders in them, so
// that what two of them have in common, and what an earlier run had, is in Go's cache.
func TestMain(m *testing.M) {
	if err := os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" -trimpath"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func TestGoFlags(t *testing.T) {
	t.Setenv("GOFLAGS", " -mod=vendor -trimpath --modfile=x.mod  -tags=a,b -modcacherw")
	fatal.Same(t, goFlags(), "-trimpath -tags=a,b -modcacherw", "goFlags")
}

// shopContract has four endpoints of four shapes: a text with a number in it,
// JSON with everything that may be missing, a path with a plain text, and a
// list whose ids and times differ at each call.
func shopContract() *contract.Contract {
	const asJSON = "application/json; charset=utf-8"
	return &contract.Contract{
		Package: "shop.v1", Service: "ShopService",
		Guesses: []contract.Guess{{Path: "log", Chosen: "4 endpoints", Against: "5", Evidence: "1 was seen once"}},
		Methods: []contract.Method{
			{
				Name: "Count", Input: "CountRequest", Output: "CountResponse", Safe: true, Seen: 20,
				HTTP: contract.Binding{
					Method: "POST", Pattern: "/Count", Body: contract.Body{Form: contract.Object, ContentType: "application/json"},
					Response: contract.Response{
						Status: 200, ContentType: "text/html; charset=utf-8", Form: contract.Text,
						Parts: []contract.Part{{Literal: "Counted to "}, {Field: "sum"}, {Literal: " \n"}},
					},
				},
				Compare: contract.Compare{Kind: whittle.Statistical, Value: "number in the body", Per: "request.times"},
				Guesses: []contract.Guess{{Path: "response", Chosen: "a number in a text", Against: "text", Evidence: "20 of 20 responses"}},
			},
			{
				Name: "CreateOrder", Input: "CreateOrderRequest", Output: "CreateOrderResponse", Seen: 20,
				HTTP: contract.Binding{
					Method: "POST", Pattern: "/orders", Query: []contract.Parameter{{Name: "dryRun", Field: "dry_run"}},
					Body: contract.Body{Form: contract.Object, ContentType: "application/json", Unset: contract.Unset{Omits: []string{"$.items[*].tags"}}},
					Response: contract.Response{
						Status: 201, ContentType: asJSON, Form: contract.Object,
						Unset: contract.Unset{Nulls: []string{"$.note", "$.items[*].gift.card"}, Omits: []string{"$.items[*].tags", "$.byId"}},
					},
				},
				Failures: []contract.Failure{{Status: 422, ContentType: asJSON, Count: 2}},
			},
			{
				Name: "GetGreeting", Input: "GetGreetingRequest", Output: "GetGreetingResponse", Safe: true, Seen: 20,
				HTTP: contract.Binding{
					Method: "GET", Pattern: "/greetings/{name}/{times}", Body: contract.Body{Form: contract.NoBody},
					Path:     []contract.Parameter{{Name: "name", Field: "name"}, {Name: "times", Field: "times"}},
					Query:    []contract.Parameter{{Name: "in", Field: "language"}},
					Response: contract.Response{Status: 200, ContentType: "text/plain; charset=utf-8", Form: contract.Text, Parts: []contract.Part{{Field: "text"}}},
				},
			},
			{
				Name: "ListEvents", Input: "ListEventsRequest", Output: "ListEventsResponse", Safe: true, Seen: 20,
				HTTP: contract.Binding{
					Method: "GET", Pattern: "/events", Body: contract.Body{Form: contract.NoBody},
					Query:    []contract.Parameter{{Name: "limit", Field: "limit"}},
					Response: contract.Response{Status: 200, ContentType: asJSON, Form: contract.Whole, Field: "events", Unset: contract.Unset{Nulls: []string{"$[*].by"}}},
				},
				Compare: contract.Compare{Kind: whittle.JSON, Ignore: []string{"$[*].id", "$[*].at"}},
			},
		},
		Messages: []contract.Message{
			{Name: "CountRequest", Fields: []contract.Field{{Name: "times", Number: 1, Type: contract.Int32, Doc: "Range 0 to 10000000."}}},
			{Name: "CountResponse", Fields: []contract.Field{{Name: "sum", Number: 1, Type: contract.Int64}}},
			{Name: "CreateOrderRequest", Fields: []contract.Field{
				{Name: "dry_run", Number: 1, Type: contract.Bool, Optional: true},
				{Name: "customer", Number: 2, Type: contract.String},
				{Name: "items", Number: 3, Type: contract.MessageType, Ref: "Item", Repeated: true},
			}},
			{Name: "Item", Fields: []contract.Field{
				{Name: "sku", JSON: "SKU", Number: 1, Type: contract.String},
				{Name: "price", Number: 2, Type: contract.Double},
				{Name: "tags", Number: 3, Type: contract.String, Repeated: true},
				{Name: "gift", Number: 4, Type: contract.MessageType, Ref: "Gift"},
				{Name: "state", Number: 5, Type: contract.EnumType, Ref: "State", Optional: true},
			}},
			{Name: "Gift", Fields: []contract.Field{{Name: "card", Number: 1, Type: contract.String, Optional: true}, {Name: "wrap", Number: 3, Type: contract.Bool}}, Reserved: []int32{2}},
			{Name: "CreateOrderResponse", Fields: []contract.Field{
				{Name: "order_id", Number: 1, Type: contract.Uint64},
				{Name: "note", Number: 2, Type: contract.String, Optional: true},
				{Name: "items", Number: 3, Type: contract.MessageType, Ref: "Item", Repeated: true},
				{Name: "by_id", Number: 4, Type: contract.MessageType, Ref: "Item", Map: true},
				{Name: "extra", Number: 5, Type: contract.Value},
				{Name: "total", Number: 6, Type: contract.Double},
			}},
			{Name: "GetGreetingRequest", Fields: []contract.Field{
				{Name: "name", Number: 1, Type: contract.String},
				{Name: "times", Number: 2, Type: contract.Int32},
				{Name: "language", Number: 3, Type: contract.String, Optional: true},
			}},
			{Name: "GetGreetingResponse", Fields: []contract.Field{{Name: "text", Number: 1, Type: contract.String}}},
			{Name: "ListEventsRequest", Fields: []contract.Field{{Name: "limit", Number: 1, Type: contract.Int32, Optional: true}}},
			{Name: "ListEventsResponse", Fields: []contract.Field{{Name: "events", Number: 1, Type: contract.MessageType, Ref: "Event", Repeated: true}}},
			{Name: "Event", Fields: []contract.Field{
				{Name: "id", Number: 1, Type: contract.String},
				{Name: "at", Number: 2, Type: contract.String},
				{Name: "kind", Number: 3, Type: contract.EnumType, Ref: "State"},
				{Name: "by", Number: 4, Type: contract.MessageType, Ref: "Gift"},
			}},
		},
		Enums: []contract.Enum{{Name: "State", Values: []contract.EnumValue{
			{Name: "STATE_UNSPECIFIED"}, {Name: "STATE_OPEN", JSON: "open", Number: 1}, {Name: "STATE_IN_WORK", JSON: "in work", Number: 2},
		}}},
	}
}

func recorded(method, target, body string, status int, contentType, response string) *capture.Entry {
	e := &capture.Entry{
		At:       time.Unix(1_700_000_000, 0),
		Request:  whittle.Request{Method: method, Target: target, Header: whittle.Header{}, Body: []byte(body)},
		Response: whittle.Response{Status: status, Header: whittle.Header{}, Body: []byte(response)},
	}
	if body != "" {
		e.Request.Header["Content-Type"] = []string{"application/json"}
	}
	if contentType != "" {
		e.Response.Header["Content-Type"] = []string{contentType}
	}
	return e
}

// shopLog is what was recorded of the shop.
func shopLog() iter.Seq2[*capture.Entry, error] {
	const asJSON, asHTML, asText = "application/json; charset=utf-8", "text/html; charset=utf-8", "text/plain; charset=utf-8"
	log := []*capture.Entry{
		recorded("POST", "/Count", `{"times":10}`, 200, asHTML, "Counted to 512 \n"),
		recorded("POST", "/Count", `{"times":0}`, 200, asHTML, "Counted to 0 \n"),
		recorded("POST", "/Count", `{"times":10000000}`, 200, asHTML, "Counted to 500047951 \n"),
		// A request that the contract has no place for: the monolith's.
		recorded("POST", "/Count", `{"times":"many"}`, 400, asText, "no"),
		// A success that it has no place for.
		recorded("POST", "/Count", `{"times":3}`, 200, asHTML, "Counted to many \n"),

		recorded("POST", "/orders?dryRun=true", `{"customer":"ann","items":[{"SKU":"a","price":0.1,"state":"in work"}]}`, 201, asJSON,
			`{"orderId":18446744073709551615,"note":null,"items":[{"SKU":"a","price":0.1,"state":"in work"}],"extra":{"a":[1,null,"<&>"]},"total":1000000}`),
		recorded("POST", "/orders", `{"customer":"bob","items":[]}`, 201, asJSON,
			`{"orderId":2,"note":"é","items":[{"SKU":"b","price":1e21,"tags":["x"],"gift":{"card":null,"wrap":false}}],"byId":{"b":{"SKU":"b","price":0}},"extra":null,"total":0}`),
		recorded("POST", "/orders", `{"customer":"","items":[{"SKU":"","price":0,"tags":[],"gift":{"wrap":true}}]}`, 422, asJSON, `{"error":{"field":"customer"}}`),
		// A member that no exchange had before.
		recorded("POST", "/orders", `{"customer":"eve","items":[]}`, 201, asJSON, `{"orderId":3,"note":null,"items":[],"total":0,"new":true}`),

		recorded("GET", "/greetings/ann/2", "", 200, asText, "Hello ann, hello ann"),
		recorded("GET", "/greetings/a%2Fb%20%C3%A9/1?in=de", "", 200, asText, "Hallo a/b é"),
		recorded("GET", "/greetings/nobody/1", "", 404, "", ""),

		recorded("GET", "/events", "", 200, asJSON, `[{"id":"5","at":"2026-01-02T03:04:05Z","kind":"open","by":null},{"id":"6","at":"x","kind":"in work","by":{"wrap":true}}]`),
		recorded("GET", "/events?limit=0", "", 200, asJSON, `[]`),
		// Words that no exchange had before, one of them a name of proto's.
		recorded("GET", "/events?limit=1", "", 200, asJSON, `[{"id":"7","at":"x","kind":"paused","by":null}]`),
		recorded("GET", "/events?limit=2", "", 200, asJSON, `[{"id":"8","at":"x","kind":"STATE_OPEN","by":null}]`),
		recorded("GET", "/events?limit=3", "", 200, asJSON, `[{"id":"9","at":"x","kind":1,"by":null}]`),
		recorded("GET", "/other", "", 200, asText, "no endpoint of ours"),
	}
	for i := range 20 {
		log = append(log, recorded("GET", "/greetings/n"+strconv.Itoa(i)+"/1", "", 200, asText, fmt.Sprintf("Hello n%d", i)))
	}
	log[0].Request.Header["Cookie"] = []string{"session=redacted-3f9a2c81d04e"}
	return entriesOf(log)
}
