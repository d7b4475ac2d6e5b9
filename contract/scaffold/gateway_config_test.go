package scaffold

import (
	"strings"
	"testing"

	"whittle/contract"
	"whittle/internal/fatal"
)

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
	for _, want := range []string{
		`- match: "POST /send:"` + "\n",
		"        query:\n          \"Null\": \"null\"\n",
		"        form:\n          \"b c\": \"b_c\"\n        unknown: refuse\n        loss: refuse\n",
		`template: '{{""}}'`,
		`template: "\u007f\u0085 $${HOME} {{\"{{\"}} \n# {{.null}}"` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
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
