package scaffold

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"whittle"
	"whittle/carve/transcode"
	"whittle/contract"
	"whittle/internal/fatal"
)

// textContract has one endpoint that responds with a text of parts, in which
// "id" and "name" are fields.
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
	made := func(parts ...contract.Part) *view {
		v, err := newView(textContract(parts...), Options{Dir: dir, Module: "odd", Monolith: "http://127.0.0.1:3000"})
		fatal.If(t, err)
		return v
	}
	put := func(name string, content []byte) {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	files, err := made(id).files()
	fatal.If(t, err)
	put(configName, made(id).gatewayConfig())
	for _, f := range files {
		if strings.HasSuffix(f.path, ".binpb") {
			put(f.path, f.content)
		}
	}
	for _, before := range odd {
		for _, after := range odd {
			parts := []contract.Part{{Literal: before}, id, {Literal: after}, name, {Literal: before}, {Literal: after}}
			put(routesName, made(parts...).gatewayRoutes())
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
			if want := before + "17" + after + "ann" + before + after; got.String() != want {
				t.Errorf("%q, want %q, by %s", got.String(), want, f.Routes[0].RPC.Template)
			}
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
	if err := mine.holdConfig(); err != nil {
		t.Errorf("a person's config: %v", err)
	}
}

// TestABodyThatNobodyRecordedIsRefused: an endpoint without a body has no place
// for one, not even for one that says what the query says.
func TestABodyThatNobodyRecordedIsRefused(t *testing.T) {
	c := textContract(contract.Part{Field: "name"})
	c.Methods[0].Input = "Out"
	h := &c.Methods[0].HTTP
	h.Method, h.Pattern = "POST", "/ask/{id}"
	h.Path, h.Query = []contract.Parameter{{Name: "id", Field: "id"}}, []contract.Parameter{{Name: "name", Field: "name"}}
	v, err := newView(c, Options{Dir: t.TempDir(), Module: "odd", Monolith: "http://127.0.0.1:3000"})
	fatal.If(t, err)
	files, err := v.files()
	if err == nil {
		p := Project{Dir: v.Dir}
		err = p.write(files, &manifest{}, &manifest{Files: map[string]string{}})
	}
	fatal.If(t, err)
	f, err := readConfig(v.Dir)
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
			if (err == nil) != taken {
				t.Errorf("%s %q: %v", contentType, body, err)
			}
		}
	}
}
