package openapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"whittle"
	"whittle/contract"
	"whittle/internal/fatal"
	"whittle/whittletest"
)

const shop = `openapi: 3.1.0
info: {title: Shop API, version: "1"}
servers: [{url: https://api.example.com/v1/}]
paths:
  /users:
    parameters:
      - {name: page, in: query, schema: {type: integer, format: int32}}
      - {name: tag, in: query, schema: {type: array, items: {type: string}}}
    get:
      operationId: listUsers
      parameters:
        - {name: X-Trace, in: header, schema: {type: string}}
      responses:
        "200":
          content:
            application/json:
              schema: {type: array, items: {$ref: "#/components/schemas/User"}}
        "404": {content: {application/problem+json: {}}}
    post:
      summary: Makes a user.
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name]
              properties:
                name: {type: string}
                friend: {$ref: "#/components/schemas/User"}
      responses:
        "201": {$ref: "#/components/responses/One"}
  /users/{userId}:
    get:
      operationId: getUser
      parameters:
        - {name: userId, in: path, required: true, schema: {type: integer}}
      responses:
        "200": {$ref: "#/components/responses/One"}
    delete:
      responses: {"204": {description: gone}}
  /ping:
    get:
      responses: {"200": {content: {text/plain: {schema: {type: string}}}}}
  /login:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, required: [user], properties: {user: {type: string}, keep: {type: boolean}}}
      responses: {"204": {}}
  /avatar:
    get:
      responses: {"200": {content: {image/png: {}}}}
components:
  responses:
    One:
      content:
        application/json:
          schema: {$ref: "#/components/schemas/User"}
  schemas:
    Base:
      type: object
      required: [id]
      properties:
        id: {type: integer, format: int64, description: Never changes.}
        made: {type: string, format: date-time}
    User:
      allOf:
        - $ref: "#/components/schemas/Base"
        - type: object
          required: [state, tags, nick]
          properties:
            state: {type: string, enum: [open, in-progress, In Progress]}
            tags: {type: array, items: {type: string}}
            nick: {type: [string, "null"]}
            friends: {type: array, items: {$ref: "#/components/schemas/User"}}
            scores: {type: object, additionalProperties: {type: number}}
            extra: {oneOf: [{type: string}, {type: integer}]}
            boss: {anyOf: [{$ref: "#/components/schemas/User"}, {type: "null"}]}
            matrix: {type: array, items: {type: array, items: {type: number}}}
`

func TestRead(t *testing.T) {
	c, err := Read("api.yaml", []byte(shop), nil)
	fatal.If(t, err)
	if c.Service != "ShopService" || c.Package != "shop.v1" {
		t.Errorf("%s %s", c.Service, c.Package)
	}
	type one struct {
		HTTP           string
		Query          int
		Body, Response contract.BodyForm
		Field          string
		Status         int
	}
	got := map[string]one{}
	for _, m := range c.Methods {
		h := m.HTTP
		got[m.Name] = one{h.Method + " " + h.Pattern, len(h.Query), h.Body.Form, h.Response.Form, h.Response.Field, h.Response.Status}
	}
	want := map[string]one{
		"ListUsers":           {"GET /v1/users", 2, "none", "whole", "users", 200},
		"PostV1Users":         {"POST /v1/users", 2, "object", "whole", "user", 201},
		"GetUser":             {"GET /v1/users/{user_id}", 0, "none", "whole", "user", 200},
		"DeleteV1UsersUserId": {"DELETE /v1/users/{user_id}", 0, "none", "none", "", 204},
		"GetV1Ping":           {"GET /v1/ping", 0, "none", "text", "", 200},
		"PostV1Login":         {"POST /v1/login", 0, "form", "none", "", 204},
	}
	fatal.Same(t, got, want, "")
	u := c.Message("User")
	types := map[string]string{}
	for _, f := range u.Fields {
		types[f.JSON] = string(f.Type) + " " + f.Ref
		if f.Repeated {
			types[f.JSON] += " repeated"
		}
		if f.Map {
			types[f.JSON] += " map"
		}
		if f.Optional {
			types[f.JSON] += " optional"
		}
	}
	wantTypes := map[string]string{
		"id": "int64 ", "made": "string  optional", "state": "enum State", "tags": "string  repeated", "nick": "string  optional",
		"friends": "message User repeated", "scores": "double  map", "extra": "google.protobuf.Value  optional",
		"boss": "message User optional", "matrix": "google.protobuf.Value  repeated",
	}
	fatal.Same(t, types, wantTypes, "")
	if e := c.Enums[0]; len(e.Values) != 4 || e.Values[1] != (contract.EnumValue{Name: "STATE_OPEN", JSON: "open", Number: 1}) ||
		e.Values[2].Name == e.Values[3].Name || e.Values[3].JSON != "In Progress" {
		t.Errorf("%+v", c.Enums)
	}
	for _, m := range c.Methods {
		if m.Name == "GetUser" {
			u := m.HTTP.Response.Unset
			if !reflect.DeepEqual(u.Nulls, []string{"$.nick", "$.boss"}) || !reflect.DeepEqual(u.Omits, []string{"$.friends", "$.scores", "$.matrix"}) {
				t.Errorf("%+v", u)
			}
		}
		if m.Name == "ListUsers" && len(m.Failures) != 1 {
			t.Errorf("%+v", m.Failures)
		}
	}
	if len(c.Guesses) != 1 || c.Guesses[0].Path != "GET /v1/avatar" {
		t.Errorf("%+v", c.Guesses)
	}
}

// TestMembersThatNoFieldCanBeCalled are no reason to refuse a document: such a body is a
// value as a whole, and a form has a field of another name.
func TestMembersThatNoFieldCanBeCalled(t *testing.T) {
	of := func(media string) string {
		const odd = `{"type": "object", "properties": {"[x]": {"type": "string"}, "y": {"type": "string"}}}`
		return `{"openapi": "3.0.0", "paths": {"/odd": {"post": {"requestBody": {"content": {"` + media + `": {"schema": ` + odd + `}}},
			"responses": {"200": {"content": {"application/json": {"schema": ` + odd + `}}}}}}}}`
	}
	for media, want := range map[string][2]string{
		"application/json":                  {"whole", "[{body google.protobuf.Value}]"},
		"application/x-www-form-urlencoded": {"form", "[{x string} {y string}]"},
	} {
		c, err := Read("api.json", []byte(of(media)), nil)
		if err != nil {
			t.Errorf("%s: %v", media, err)
			continue
		}
		m := &c.Methods[0]
		type field struct {
			JSON string
			Type contract.Type
		}
		var fields []field
		for _, f := range c.Message(m.Input).Fields {
			fields = append(fields, field{f.JSON, f.Type})
		}
		if got := [2]string{string(m.HTTP.Body.Form), fmt.Sprint(fields)}; got != want || m.HTTP.Response.Form != contract.Whole {
			t.Errorf("%s: %q, want %q; the response is %s", media, got, want, m.HTTP.Response.Form)
		}
		if media != "application/json" && m.HTTP.Body.Pairs[0].Name != "[x]" {
			t.Errorf("the form's parts are %+v", m.HTTP.Body.Pairs)
		}
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	const head = "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      responses:\n        '200':\n          content:\n            application/json:\n              schema: "
	for _, tc := range []struct {
		name, doc, want string
		code            whittle.Code
	}{
		{"swagger", "swagger: '1.2'\n", "Swagger 1.2", whittle.Unsupported},
		{"swagger 2.0", "swagger: '2.0'\npaths: {}\n", "Swagger 2.0", whittle.Unsupported},
		{"empty", "", "line 1: ", whittle.Invalid},
		{"version", "openapi: 4.0.0\n", `line 1: openapi is "4.0.0"`, whittle.Invalid},
		{"no paths", "openapi: 3.0.0\n", "no paths", whittle.Invalid},
		{"no operations", "openapi: 3.0.0\npaths: {}\n", "no operation", whittle.Invalid},
		{"not YAML", "openapi: [\n", "not readable as YAML", whittle.Invalid},
		{"JSON", "\n{\"openapi\": \"3.0.0\",\n\"paths\": 1}", "no paths", whittle.Invalid},
		{"dangling", head + "{$ref: '#/components/schemas/No'}\n", "line 9: $ref", whittle.Invalid},
		{"remote", head + "{$ref: 'other.yaml#/User'}\n", "line 9: $ref", whittle.Invalid},
		{"circle", head + "{$ref: '#/components/schemas/A'}\ncomponents: {schemas: {A: {$ref: '#/components/schemas/B'}, B: {$ref: '#/components/schemas/A'}}}\n", "circle", whittle.Invalid},
		{"allOf in a circle", head + "{$ref: '#/components/schemas/A'}\n" +
			"components: {schemas: {A: {properties: {}, allOf: [{$ref: '#/components/schemas/A'}, {$ref: '#/components/schemas/A'}]}}}\n", "circle", whittle.Invalid},
		{"an alias of nothing", "openapi: *a\n", "line 1: *a has no anchor", whittle.Invalid},
		{"an alias within itself", "openapi: 3.0.0\nx-a: &a\n  - *a\n", "line 3: *a contains itself", whittle.Invalid},
		{"aliases of aliases", laughs(), "aliases counted each time", whittle.Invalid},
		{"a merge of a text", "openapi: 3.0.0\nx-a:\n  <<: text\n", "line 3: << merges", whittle.Invalid},
		{"deep", strings.Repeat("[", 1000), "nested deeper", whittle.Invalid},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Read("api.yaml", []byte(tc.doc), nil)
			whittletest.Refused(t, err, tc.code, "", tc.want)
		})
	}
}

// laughs is a document of seven lines that stands for ten million values.
func laughs() string {
	doc := "openapi: 3.0.0\nx-0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n"
	for i := range 6 {
		doc += fmt.Sprintf("x-%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), i)
	}
	return doc
}

func TestAliasesAreReadAsWhatTheyStandFor(t *testing.T) {
	const aliased = `openapi: &version 3.0.0
x-ok: &ok
  description: &words >
    folded
    words
  content: &json {application/json: {schema: &user {type: object, required: [id], properties: {id: {type: integer}}}}}
x-more: &more {deprecated: true, operationId: merged}
paths:
  /a:
    get: &get
      operationId: first
      description: *words
      responses: {'200': *ok, '404': {description: none, content: *json}}
  /b:
    post:
      <<: [*get, *more]
      operationId: second
      requestBody: {content: {application/json: {schema: {type: object, properties: {user: *user}}}}}
`
	const written = `openapi: 3.0.0
paths:
  /a:
    get:
      operationId: first
      description: folded words
      responses:
        '200': {description: folded words, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}}
        '404': {description: none, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}}
  /b:
    post:
      operationId: second
      description: folded words
      deprecated: true
      responses:
        '200': {description: folded words, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}}
        '404': {description: none, content: {application/json: {schema: {type: object, required: [id], properties: {id: {type: integer}}}}}}
      requestBody: {content: {application/json: {schema: {type: object, properties: {user: {type: object, required: [id], properties: {id: {type: integer}}}}}}}}
`
	a, errA := Read("api.yaml", []byte(aliased), nil)
	w, errW := Read("api.yaml", []byte(written), nil)
	if errA != nil || errW != nil || len(a.Methods) != 2 || string(a.Proto()) != string(w.Proto()) {
		t.Errorf("%v %v\n%s\n%s", errA, errW, a.Proto(), w.Proto())
	}
}

// TestXNullable: older tools write x-nullable, which means nullable.
func TestXNullable(t *testing.T) {
	const doc = "openapi: 3.0.0\npaths:\n  /a:\n    get:\n      responses:\n" +
		"        '200': {content: {application/json: {schema: {type: object, required: [x], properties: {x: {type: integer, nullable: true}}}}}}\n"
	a, errA := Read("api.yaml", []byte(doc), nil)
	b, errB := Read("api.yaml", []byte(strings.Replace(doc, "nullable", "x-nullable", 1)), nil)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v %v\n%+v\n%+v", errA, errB, a, b)
	}
}

// FuzzRead holds that whatever is read is a contract that compiles.
func FuzzRead(f *testing.F) {
	f.Add([]byte(shop))
	f.Add([]byte(`{"openapi": "3.0.0", "paths": {"/a": {"get": {"responses": {"200": {"content": ` +
		`{"*/*": {"schema": {"properties": {"[a]": {}, "a_b": {"enum": ["", "x"]}, "aB": {"const": "1"}}}}}}}}}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Read("api.yaml", b, nil)
		if err != nil {
			return
		}
		if _, err := c.Descriptor(); err != nil {
			t.Fatal(err)
		}
		for _, m := range c.Methods {
			if c.Message(m.Input) == nil || c.Message(m.Output) == nil {
				t.Fatalf("%s has no messages", m.Name)
			}
		}
		_ = c.Proto()
	})
}

// TestRedirects: an operation without a 2xx succeeds by redirecting; with one, its
// redirects are failures.
func TestRedirects(t *testing.T) {
	const doc = `openapi: 3.0.3
info: {title: Odd, version: "1"}
paths:
  /login:
    post:
      operationId: login
      requestBody: {required: true, content: {application/x-www-form-urlencoded: {schema: {type: object, required: [user], properties: {user: {type: string}}}}}}
      responses: {"303": {description: again}, "302": {description: in, headers: {Location: {schema: {type: string}}}}, "401": {description: no}}
  /{tenant}/go:
    get:
      operationId: go
      parameters: [{name: tenant, in: path, required: true, schema: {type: string}}]
      responses: {"200": {description: here, content: {text/html: {schema: {type: string}}}}, "302": {description: there}, "201": {description: made}}
  /never:
    get:
      responses: {"304": {description: same}, "404": {description: no}}
`
	c, err := Read("api.yaml", []byte(doc), nil)
	if err != nil || len(c.Methods) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	login, link := &c.Methods[0], &c.Methods[1]
	if login.HTTP.Response.Status != 302 || login.HTTP.Response.Form != contract.NoBody || len(login.Failures) != 1 || login.Failures[0].Status != 401 {
		t.Errorf("login %+v, failures %+v", login.HTTP.Response, login.Failures)
	}
	if link.HTTP.Pattern != "/{tenant}/go" || link.HTTP.Response.Status != 200 || len(link.Failures) != 1 || link.Failures[0].Status != 302 {
		t.Errorf("link %+v, failures %+v", link.HTTP, link.Failures)
	}
	for _, want := range []struct {
		of     []contract.Guess
		status string
	}{{login.Guesses, "status 303"}, {link.Guesses, "status 201"}, {c.Guesses, "GET /never"}} {
		if !slices.ContainsFunc(want.of, func(g contract.Guess) bool { return g.Path == want.status && g.Chosen == "left out" }) {
			t.Errorf("nothing says that %s was left out: %+v", want.status, want.of)
		}
	}
}

// What a message cannot say is a Value or left out, with a guess, and never silently less.
func TestNothingVanishes(t *testing.T) {
	const doc = `openapi: 3.1.0
info: {title: Shop, version: "1"}
paths:
  /a:
    get:
      parameters:
        - {name: deep, in: query, style: deepObject, schema: {type: object, properties: {x: {type: string}}}}
        - {name: wide, in: query, schema: {type: object, properties: {y: {type: string}}}}
        - {name: text, in: query, explode: false, schema: {type: object, properties: {z: {type: string}}}}
      responses: {"200": {content: {application/json: {schema: {type: object, properties: {
        inAllOf: {allOf: [{properties: {a: {type: string}}}, {oneOf: [{properties: {b: {type: string}}}, {properties: {c: {type: string}}}]}]},
        siblings: {properties: {d: {type: string}}, oneOf: [{properties: {e: {type: string}}}, {properties: {f: {type: string}}}]},
        pattern: {properties: {g: {type: string}}, patternProperties: {"^x": {type: string}}},
        onlyRequired: {properties: {h: {type: string}, i: {type: string}}, anyOf: [{required: [h]}, {required: [i]}]},
      }}}}}}
`
	c, err := Read("shop.yaml", []byte(doc), nil)
	fatal.If(t, err)
	m := c.Methods[0]
	if len(m.HTTP.Query) != 1 || m.HTTP.Query[0].Name != "text" {
		t.Errorf("query %+v", m.HTTP.Query)
	}
	types := map[string]contract.Type{}
	for _, message := range c.Messages {
		for _, f := range message.Fields {
			types[f.JSON] = f.Type
		}
	}
	for name, want := range map[string]contract.Type{"inAllOf": contract.Value, "siblings": contract.Value, "pattern": contract.Value, "onlyRequired": contract.MessageType, "h": contract.String} {
		fatal.Same(t, types[name], want, "%s", name)
	}
	guesses := fmt.Sprint(m.Guesses, c.Guesses)
	fatal.Has(t, guesses, "query deep", "deep[member]", "query wide", "members depend on alternatives", "members beyond them")
}
