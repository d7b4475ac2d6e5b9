package openapi

import (
	"fmt"
	"strings"
	"testing"
)

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
		doc := "openapi: 3.0.0\nservers: [" + tc.server + "]\npaths:\n  /a: {get: {responses: {'200': {description: ok}}}}\n  /b:\n    servers: [{url: /other}]\n    get: {responses: {'200': {description: ok}}}\n" +
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
