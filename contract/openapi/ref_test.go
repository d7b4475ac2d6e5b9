package openapi

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"whittle"
	"whittle/whittletest"
)

// apart is an API in files: paths, parameters, responses and schemas of their own, a file
// of several, one that names back into the document, two of one name, and a circle.
var apart = map[string]string{
	"paths/user.yaml": "get: {$ref: ../operations/getUser.yaml}\n",
	"operations/getUser.yaml": `
  operationId: getUser
  parameters:
    - $ref: "../parameters.yaml#/id"
  responses: {$ref: ../responses.yaml}
`,
	"responses.yaml":      "'200': {$ref: responses/user.yaml}\n'404': {$ref: 'openapi.yaml#/components/responses/Missing'}\n",
	"parameters.yaml":     "id: {name: id, in: path, required: true, schema: {type: string}}\n",
	"responses/user.yaml": "description: a user\ncontent: {application/json: {schema: {$ref: '../schemas/User.json'}}}\n",
	"schemas/User.json": `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
		"boss": {"$ref": "User.json"}, "home": {"$ref": "./more/address.yaml#/definitions/Address"}, "error": {"$ref": "../openapi.yaml#/components/schemas/Error"}}}`,
	"schemas/more/address.yaml": "definitions:\n  Address: {type: object, properties: {street: {type: string}, again: {$ref: '#/definitions/Address'}}}\n",
}

const apartRoot = `openapi: 3.0.3
info: {title: Apart, version: '1'}
paths:
  /users/{id}: {$ref: paths/user.yaml}
components:
  responses:
    Missing: {description: none, content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
  schemas:
    Error: {type: object, required: [code], properties: {code: {type: integer}}}
`

const together = `openapi: 3.0.3
info: {title: Apart, version: '1'}
paths:
  /users/{id}:
    get:
      operationId: getUser
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses:
        '200': {description: a user, content: {application/json: {schema: {$ref: '#/components/schemas/User'}}}}
        '404': {description: none, content: {application/json: {schema: {$ref: '#/components/schemas/Error'}}}}
components:
  schemas:
    Error: {type: object, required: [code], properties: {code: {type: integer}}}
    User: {type: object, required: [name], properties: {name: {type: string}, ` +
	`boss: {$ref: '#/components/schemas/User'}, home: {$ref: '#/components/schemas/Address'}, error: {$ref: '#/components/schemas/Error'}}}
    Address: {type: object, properties: {street: {type: string}, again: {$ref: '#/components/schemas/Address'}}}
`

func from(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if text, ok := files[path]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
}

// TestFilesAreReadAsOneDocument: an API in files is the one that is in one document.
func TestFilesAreReadAsOneDocument(t *testing.T) {
	t.Parallel()
	a, errA := Read("openapi.yaml", []byte(apartRoot), from(apart))
	b, errB := Read("openapi.yaml", []byte(together), nil)
	if errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v %v\n%s\n%s", errA, errB, a.Proto(), b.Proto())
	}
}

// TestRefsThatAreNotFollowed: what is no file in the document's folder is refused, and an
// error in a file names it with its line.
func TestRefsThatAreNotFollowed(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"bad.yaml": "a: [\n", "empty.yaml": "", "up.yaml": "x: {$ref: '../../secret.yaml'}\n",
		"a.yaml": "$ref: b.yaml\n", "b.yaml": "$ref: a.yaml\n", "no.yaml": "\nx:\n  $ref: '#/nothing'\n",
		"deep/in.yaml": "x: {$ref: ../..//etc/passwd}\n",
	}
	for ref, want := range map[string]string{
		"https://example.com/x.yaml#/User": "line 5: $ref \"https://example.com/x.yaml#/User\" is no file next to the document",
		"//example.com/x.yaml":             "is no file next to the document",
		"file:///etc/passwd":               "is no file next to the document",
		"/etc/passwd":                      "is no path from here",
		"%2Fetc/passwd":                    "is no path from here",
		"../secret.yaml":                   "leads out of the document's folder",
		"%2e%2e/secret.yaml":               "leads out of the document's folder",
		"up.yaml#/x":                       "up.yaml, line 1: $ref \"../../secret.yaml\" leads out",
		"deep/in.yaml#/x":                  "deep/in.yaml, line 1: $ref \"../..//etc/passwd\" leads out",
		"missing.yaml":                     "line 5: $ref \"missing.yaml\": file does not exist",
		"bad.yaml":                         "bad.yaml, line 1: not readable as YAML",
		"empty.yaml":                       "empty.yaml, line 1: the document is empty",
		"a.yaml":                           "in a circle",
		"no.yaml#/x":                       "no.yaml, line 3: $ref \"#/nothing\" names nothing",
		"#":                                "names no place by #/",
		"User":                             "line 5: $ref \"User\": file does not exist",
	} {
		doc := "openapi: 3.0.3\npaths:\n  /a:\n    get:\n      responses: {'200': {content: {application/json: {schema: {$ref: '" + ref + "'}}}}}\n"
		_, err := Read("openapi.yaml", []byte(doc), from(files))
		whittletest.Refused(t, err, whittle.Invalid, ref, want)
	}
}

// TestFilesAreBounded: files that name more and more files end with an error.
func TestFilesAreBounded(t *testing.T) {
	t.Parallel()
	n := 0
	endless := func(path string) ([]byte, error) {
		n++
		return []byte("type: object\nproperties: {next: {$ref: 'x" + path + "'}}\n"), nil
	}
	doc := "openapi: 3.0.3\npaths: {/a: {get: {responses: {'200': {content: {application/json: {schema: {$ref: x.yaml}}}}}}}}\n"
	if _, err := Read("openapi.yaml", []byte(doc), endless); err == nil || n > maxFiles {
		t.Errorf("%d files: %v", n, err)
	}
	large := func(string) ([]byte, error) { return make([]byte, maxBytes), nil }
	_, err := Read("openapi.yaml", []byte(doc), large)
	whittletest.Refused(t, err, whittle.ResourceExhausted, "")
}

// Where an operation's path begins is read from the servers, or the operation is left
// out: a route without its beginning would meet no request.
func TestPathsBeginWhereServersSay(t *testing.T) {
	const vars = ", variables: {version: {default: v2, enum: [v1, v2]}, host: {default: api.example.com}, all: {default: 'https://a.example/x'}, none: {default: ''}}"
	for _, tc := range []struct{ server, path, guess string }{
		{"{url: 'https://api.example.com'}", "/a", ""},
		{"{url: 'https://api.example.com/v1/'}", "/v1/a", ""},
		{"{url: 'https://{host}/v1'" + vars + "}", "/v1/a", ""},
		{"{url: 'https://{region}.example.com/{version}'" + vars + "}", "/v2/a", ""},
		{"{url: '/api/{version}'" + vars + "}", "/api/v2/a", ""},
		{"{url: '{all}/v1'" + vars + "}", "/x/v1/a", ""},
		{"{url: '{none}/v1'" + vars + "}", "/v1/a", ""},
		{"{url: '{origin}/v1'}", "/v1/a", ""},
		{"{url: '{origin}'}", "/a", ""},
		{"{url: '//cdn.example.com/v3'}", "/v3/a", ""},
		{"{url: 'https://a.example/v1?x=1#y'}", "/v1/a", ""},
		{"{url: '/'}", "/a", ""},
		{"{url: '.'}", "/a", ""},
		{"{url: ''}", "/a", ""},
		{"{description: none}", "/a", ""},
		{"{url: '/v1'}, {url: 'https://b.example/v2'}", "/v1/a", `servers: the path of the first, "/v1", not "/v2"`},
		{"{url: 'https://a.example/v1'}, {url: 'https://b.example/v1'}", "/v1/a", ""},
		{"{url: '/{tenant}/v1'}", "", `where its path begins is not known: the server's URL (line 2) is "/{tenant}/v1"`},
		{"{url: 'https://a.example/v1/{region}'}", "", "where its path begins is not known"},
		{"{url: 'v1'}", "", "where its path begins is not known"},
		{"{url: '../v1'}", "", "where its path begins is not known"},
		{"{url: '/v1%zz'}", "", "is no URL"},
	} {
		doc := "openapi: 3.0.0\nservers: [" + tc.server + "]\n" +
			"paths:\n  /a: {get: {responses: {'200': {description: ok}}}}\n  /b:\n    servers: [{url: /other}]\n    get: {responses: {'200': {description: ok}}}\n" +
			"    post: {servers: [{url: /third}], responses: {'200': {description: ok}}}\n"
		c, err := Read("api.yaml", []byte(doc), nil)
		if err != nil {
			t.Fatalf("%s: %v", tc.server, err)
		}
		want := []string{"GET /other/b", "POST /third/b"}
		if tc.path != "" {
			want = append([]string{"GET " + tc.path}, want...)
		}
		if got := c.Endpoints(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: got %v, want %v", tc.server, got, want)
		}
		said := ""
		for _, g := range c.Guesses {
			said += fmt.Sprintf("%s: %s, not %s: %s\n", g.Path, g.Chosen, g.Against, g.Evidence)
		}
		if !strings.Contains(said, tc.guess) || tc.guess == "" && said != "" {
			t.Errorf("%s: said %q, want %q", tc.server, said, tc.guess)
		}
	}
}
