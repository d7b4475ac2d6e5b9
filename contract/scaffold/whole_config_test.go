package scaffold

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"whittle"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/internal/fatal"
	"whittle/load"
	"whittle/load/expr"
	"whittle/load/plan"
	"whittle/record/capture"
)

// textContract has one endpoint, whose response is a text of parts, with fields id and name.
func textContract(parts ...contract.Part) *contract.Contract {
	return &contract.Contract{
		Package: "odd.v1", Service: "OddService",
		Messages: []contract.Message{{Name: "In"}, {Name: "Out", Fields: []contract.Field{
			{Name: "id", Number: 1, Type: contract.Int64}, {Name: "name", Number: 2, Type: contract.String},
		}}},
		Methods: []contract.Method{{Name: "Ask", Input: "In", Output: "Out", HTTP: contract.Binding{
			Method: "GET", Pattern: "/ask", Body: contract.Body{Form: contract.NoBody},
			Response: contract.Response{Status: 200, ContentType: "text/plain", Form: contract.Text, Parts: parts},
		}}},
	}
}

// TestEveryTextMakesAConfig: whatever stands around a field in a recorded
// response, the gateway reads the config and gives users that text.
func TestEveryTextMakesAConfig(t *testing.T) {
	id, name := contract.Part{Field: "id"}, contract.Part{Field: "name"}
	odd := []string{"", "{", "}", "{{", "}}", "{{{", "}}}", "{{{{", "{ {", "{{- ", " -}}", "{{/* a */}}", `{{"`, "{{`", "\\{", "{\n", "${HOME}", "$${", "{{.id}}", "\u2028{", "\x00\x7f{"}
	dir := t.TempDir()
	_, err := configOf(textContract(id), dir)
	fatal.If(t, err)
	for _, before := range odd {
		for _, after := range odd {
			parts := []contract.Part{{Literal: before}, id, {Literal: after}, name, {Literal: before}, {Literal: after}}
			v, err := newView(textContract(parts...), Options{Dir: dir, Module: "odd", Monolith: "http://127.0.0.1:3000"})
			fatal.If(t, err)
			fatal.If(t, put(filepath.Join(dir, routesName), v.gatewayRoutes()))
			f, err := readConfig(dir)
			if err != nil {
				t.Errorf("%q before a field and %q behind it: %v", before, after, err)
				continue
			}
			// The gateway's renderer is text/template.
			response, err := template.New("").Parse(f.Routes[0].RPC.Template)
			fatal.If(t, err)
			var got bytes.Buffer
			fatal.If(t, response.Execute(&got, map[string]any{"id": 17, "name": "ann"}))
			fatal.Same(t, got.String(), before+"17"+after+"ann"+before+after, "by %s", f.Routes[0].RPC.Template)
		}
	}
}

// TestAConfigThatDoesNotLoadIsNoSuccess: a project is not called made while the
// gateway would refuse its config, unless a person wrote that.
func TestAConfigThatDoesNotLoadIsNoSuccess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "odd")
	_, err := Make(t.Context(), textContract(contract.Part{Field: "id"}), nil, Options{Dir: dir, Monolith: "ftp://127.0.0.1"})
	if e, ok := errors.AsType[*whittle.Error](err); !ok || e.Code != whittle.Internal || e.Hint == "" || !strings.Contains(err.Error(), configName+":7:11: monolith") {
		t.Errorf("Make = %v", err)
	}
	mine := &Project{Dir: dir, Kept: []string{"Makefile", configName}}
	fatal.If(t, mine.holdConfig())
}

// TestABodyThatNobodyRecordedIsRefused: an endpoint without a body has no place
// for one, not even for one that says what the query says.
func TestABodyThatNobodyRecordedIsRefused(t *testing.T) {
	c := textContract(contract.Part{Field: "name"})
	c.Methods[0].Input = "Out"
	h := &c.Methods[0].HTTP
	h.Method, h.Pattern = "POST", "/ask/{id}"
	h.Path, h.Query = []contract.Parameter{{Name: "id", Field: "id"}}, []contract.Parameter{{Name: "name", Field: "name"}}
	f, err := configOf(c, t.TempDir())
	fatal.If(t, err)
	gateway, err := transcode.New(*f.Routes[0].RPC, transcode.Pattern(h.Pattern))
	fatal.If(t, err)
	for body, taken := range map[string]bool{
		"": true, `{"force":true}`: false, `{"name":"a"}`: false, `{"id":"7"}`: false, "force=1": false,
	} {
		for _, contentType := range []string{"application/json", "application/x-www-form-urlencoded"} {
			_, err := gateway.Request(&whittle.Request{
				Method: "POST", Target: "/ask/7?name=a", Header: whittle.Header{"Content-Type": {contentType}}, Body: []byte(body),
			})
			fatal.Same(t, (err == nil), taken, "%s %q: %v", contentType, body, err)
		}
	}
}

// TestGatewayConfigIsSafe: nothing of a recorded endpoint means anything in
// YAML, in a template or in the environment, and nothing a user says is lost.
func TestGatewayConfigIsSafe(t *testing.T) {
	text := []contract.Field{{Name: "null", JSON: "null", Number: 1, Type: contract.String}, {Name: "b_c", JSON: "bC", Number: 2, Type: contract.String}}
	c := &contract.Contract{
		Package: "odd.v1", Service: "OddService",
		Messages: []contract.Message{{Name: "In", Fields: text}, {Name: "Out"}, {Name: "OutText", Fields: text[:1]}},
		Methods: []contract.Method{
			{Name: "Send", Input: "In", Output: "Out", HTTP: contract.Binding{
				Method: "POST", Pattern: "/send:", Query: []contract.Parameter{{Name: "Null", Field: "null"}},
				Body:     contract.Body{Form: contract.Form, ContentType: "application/x-www-form-urlencoded", Pairs: []contract.Parameter{{Name: "b c", Field: "b_c"}}},
				Response: contract.Response{Status: 200, Form: contract.NoBody},
			}},
			{Name: "Ask", Input: "In", Output: "OutText", HTTP: contract.Binding{
				Method: "GET", Pattern: "/ask", Body: contract.Body{Form: contract.NoBody},
				Response: contract.Response{Status: 200, Form: contract.Text, Parts: []contract.Part{{Literal: "\x7f\u0085 ${HOME} {{ \n# "}, {Field: "null"}}},
			}},
		},
	}
	v, err := newView(c, Options{Dir: t.TempDir(), Module: "odd", Monolith: "http://127.0.0.1:3000"})
	fatal.If(t, err)
	got := string(v.gatewayRoutes())
	fatal.Has(t, got,
		`- match: "POST /send:"`+"\n",
		"        query:\n          \"Null\": \"null\"\n",
		"        form:\n          \"b c\": \"b_c\"\n        unknown: refuse\n        loss: refuse\n",
		`template: '{{""}}'`,
		`template: "\u007f\u0085 $${HOME} {{\"{{\"}} \n# {{.null}}"`+"\n",
	)
}

// A contract may have no package, and one whose parts Go would not import as folders.
func TestPackagesOfEveryKind(t *testing.T) {
	for _, tc := range []struct{ pkg, file, goImport, alias, procedure string }{
		{"", "shop.proto", "m/internal/gen/shop", "shoppb", "method: shop/Get\n"},
		{"acme.internal.v1", "acme/internal/v1/internal.proto", "m/internal/gen/acme/internalpb/v1", "internalv1pb", "method: acme.internal.v1.shop/Get\n"},
	} {
		c := &contract.Contract{
			Package: tc.pkg, Service: "shop",
			Messages: []contract.Message{{Name: "Empty"}},
			Methods: []contract.Method{{Name: "Get", Input: "Empty", Output: "Empty", HTTP: contract.Binding{
				Method: "GET", Pattern: "/get", Body: contract.Body{Form: contract.NoBody}, Response: contract.Response{Status: 200, Form: contract.NoBody},
			}}},
		}
		v, err := newView(c, Options{Dir: t.TempDir(), Module: "m", Monolith: "http://127.0.0.1:3000"})
		fatal.If(t, err)
		if c.FileName() != tc.file || v.GoImport != tc.goImport || v.GoAlias != tc.alias {
			t.Errorf("%q: %s, %s, %s", tc.pkg, c.FileName(), v.GoImport, v.GoAlias)
		}
		if got := string(v.gatewayRoutes()); !strings.Contains(got, tc.procedure) {
			t.Errorf("%q: there is no %s in\n%s", tc.pkg, tc.procedure, got)
		}
	}
}

// The generators give a method and its messages the names that the project's own code has.
func TestNamesAreTheGenerators(t *testing.T) {
	for _, name := range []string{"a", "get_user", "GetUser", "getHTTPUser", "_private", "x__y", "v2_list", "a1b", "A_b_C", "end_", "_9", "snake_9_lives", "ab.cd"} {
		inner := name
		if name == "ab.cd" {
			name, inner = "ab", "cd"
		}
		file := &descriptorpb.FileDescriptorProto{
			Name: new("a.proto"), Package: new("shop.v1"), Syntax: new("proto3"), Options: &descriptorpb.FileOptions{GoPackage: new("example.com/a;a")},
			MessageType: []*descriptorpb.DescriptorProto{{Name: &name, NestedType: []*descriptorpb.DescriptorProto{{Name: &inner}}}},
		}
		full := ".shop.v1." + name + "." + inner
		file.Service = []*descriptorpb.ServiceDescriptorProto{{Name: new("S"), Method: []*descriptorpb.MethodDescriptorProto{{Name: &name, InputType: &full, OutputType: &full}}}}
		set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file}}
		plugin, err := protogen.Options{}.New(&pluginpb.CodeGeneratorRequest{FileToGenerate: []string{"a.proto"}, ProtoFile: set.GetFile()})
		fatal.If(t, err)
		m := plugin.FilesByPath["a.proto"].Services[0].Methods[0]
		if got := [2]string{goName(name), goMessage(set, full)}; got != [2]string{m.GoName, m.Input.GoIdent.GoName} {
			t.Errorf("%q: %q, and the generators say %q and %q", name, got, m.GoName, m.Input.GoIdent.GoName)
		}
	}
}

// planOf reads a view's plan as whittle load does.
func planOf(t *testing.T, v *view) (p *plan.Plan, text string) {
	t.Helper()
	path := fatal.Write(t, filepath.Join(t.TempDir(), "load.yaml"), v.loadPlan())
	p, err := load.ReadPlan(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, v.loadPlan())
	}
	return p, string(v.loadPlan())
}

// TestThePlanSendsWhatWasRecorded: braces in a recorded request are no expressions.
func TestThePlanSendsWhatWasRecorded(t *testing.T) {
	for _, odd := range []string{
		"plain", "{}", "{{", "}}", "{{}}", "{{ name }}", "{{name}}", "{{#if x}}yes{{/if}}", "{{{ raw }}}", "{{{{", "a{{b", "}}{{",
		"{{ $randomNumber(1, 2) }}", "{ {", "${HOME} $${", "\\{{", "\"{{\"", "é{{\u0085\x7f{", "{{ brace }}", "{", "\n{{\r\n",
	} {
		body := `{"subject":"Hi ` + odd + `"}`
		target := "/mails?q=" + strings.NewReplacer(" ", "+", "#", "%23", "\n", "%0A", "\r", "%0D").Replace(odd)
		v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
		fatal.If(t, err)
		v.samples["Ask"] = &samples{asked: 2, exchanges: []exchange{
			{Method: "POST", Target: target, Type: `text/plain; x="{{y}}"`, Body: &body, Response: response{Status: 200}},
			{Method: "GET", Target: "/mails", Type: "text/plain", Body: &odd, Response: response{Status: 200}},
		}}
		p, text := planOf(t, v)
		s := &expr.Scope{Values: make([]expr.Value, p.Slots), RNG: rand.New(rand.NewPCG(1, 2))}
		for i := range p.Variables {
			p.Variables[i].Fill(s)
		}
		requests := p.Requests()
		if len(requests) != 2 {
			t.Fatalf("%d requests", len(requests))
		}
		for i, want := range []string{body, odd} {
			fatal.Same(t, string(requests[i].Body.Render(nil, s)), want, "the plan sends\n%s", text)
		}
		wantTarget := string(expr.AppendTarget(nil, target))
		fatal.Same(t, string(requests[0].Path.Render(nil, s)), wantTarget, "the plan asks for\n%s", text)
		for _, h := range requests[0].Headers {
			if got := string(h.Value.Render(nil, s)); h.Name == "content-type" && got != `text/plain; x="{{y}}"` {
				t.Errorf("the plan sends a %q", got)
			}
		}
	}
}

// TestThePlanIsShortEnough: however long the recorded bodies are, the plan can
// be read, has a request of each endpoint that there is room for, and says what
// it left out.
func TestThePlanIsShortEnough(t *testing.T) {
	c := textContract(contract.Part{Field: "id"})
	body, braced := strings.Repeat("\x01", maxSample), strings.Repeat("{", maxBraces+1)
	other := body[1:]
	for _, name := range []string{"Tell", "Show"} {
		m := c.Methods[0]
		m.Name, m.HTTP.Method, m.HTTP.Pattern = name, "POST", "/"+name
		c.Methods = append(c.Methods, m)
	}
	v, err := newView(c, Options{Dir: t.TempDir(), Module: "odd"})
	fatal.If(t, err)
	short := "{}"
	for name, bodies := range map[string][]*string{"Ask": {&body, &other, &short, &braced}, "Tell": {&short, &body}, "Show": {&body}} {
		s := &samples{asked: 1}
		for _, b := range bodies {
			s.exchanges = append(s.exchanges, exchange{Method: "POST", Target: "/" + name, Body: b, Response: response{Status: 200}})
		}
		v.samples[name] = s
	}
	p, text := planOf(t, v)
	if len(p.Requests()) != 3 || len(p.Scenarios) != 2 {
		t.Errorf("%d requests in %d scenarios", len(p.Requests()), len(p.Scenarios))
	}
	fatal.Has(t, text,
		"  # Ask: left out 2 recorded requests that a plan has no room for (1 MiB for all, 1000 doubled braces in each)\n",
		"  # Tell: left out 1 recorded request that a plan has no room for (1 MiB for all, 1000 doubled braces in each)\n",
		"  # Show: left out 1 recorded request that a plan has no room for (1 MiB for all, 1000 doubled braces in each)\n",
	)
}

// TestThePlanHasEachInput: every distinct request is sent, failures and redirects
// too, none of them twice, and the load that a user makes stays what it was.
func TestThePlanHasEachInput(t *testing.T) {
	v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
	fatal.If(t, err)
	s := &samples{asked: 500, coverage: capture.Coverage{Inputs: 23, Covered: 20, Kinds: 4, KindsCovered: 4}}
	for i := range 20 {
		x := exchange{Method: "POST", Target: "/mails?n=" + strconv.Itoa(i), Response: response{Status: 200}}
		switch i {
		case 7:
			x.Response.Status = 422
		case 8:
			x.Response.Status = 302
		case 9:
			x.Response.Status = 500
		}
		s.exchanges = append(s.exchanges, x)
		if i == 3 { // the same request got another response, too
			x.Response.Status = 404
			s.exchanges = append(s.exchanges, x)
		}
	}
	v.samples["Ask"] = s
	p, text := planOf(t, v)
	if requests := p.Requests(); len(requests) != 20 || len(p.Scenarios) != 3 {
		t.Errorf("%d requests in %d scenarios\n%s", len(requests), len(p.Scenarios), text)
	}
	for i := range p.Scenarios {
		if s := &p.Scenarios[i]; s.Weight != 25 || len(s.Steps) < 6 {
			t.Errorf("a scenario of %d requests weighs %g, want 6 or 7 and 500 / 20", len(s.Steps), s.Weight)
		}
	}
	fatal.Has(t, text,
		"  # Ask: 20 of 23 distinct recorded inputs\n", `url: "/mails?n=7"`, "expect: {statusCode: 422}", `url: "/mails?n=19"`,
	)
	_, redirect, _ := strings.Cut(text, `url: "/mails?n=8"`)
	redirect, rest, _ := strings.Cut(redirect, "- post:")
	fatal.Has(t, redirect, "followRedirect: false", "expect: {statusCode: 302}")
	if failure, _, _ := strings.Cut(rest, "- post:"); strings.Contains(failure, "expect") {
		t.Errorf("a failure of the server is expected again: %s", failure)
	}
	if twice, _, _ := strings.Cut(text[strings.Index(text, "n=3\""):], "- post:"); strings.Contains(twice, "expect") {
		t.Errorf("one of two statuses is expected: %s", twice)
	}
}

// TestAPlanSaysWhoseRequestsItHas: those of a document are nobody's.
func TestAPlanSaysWhoseRequestsItHas(t *testing.T) {
	v, err := newView(textContract(contract.Part{Field: "id"}), Options{Dir: t.TempDir(), Module: "odd"})
	fatal.If(t, err)
	if plan := string(v.loadPlan()); !strings.HasPrefix(plan, "# A made-up request of each method") {
		t.Errorf("%.80s", plan)
	}
	v.samples["other"] = &samples{}
	if plan := string(v.loadPlan()); !strings.HasPrefix(plan, "# Users as they were recorded") {
		t.Errorf("%.80s", plan)
	}
}
