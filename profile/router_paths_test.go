package profile

import "testing"

// A request is known by what the routers of Go and Node write.
func TestARequestMeansItsRoute(t *testing.T) {
	for _, c := range []struct {
		endpoint, name string
		same           bool
	}{
		{"GET /users/:id", "GET /users/17", true},
		{"GET /users/:id", "GET /users/17/", true},
		{"GET /users/:id", "GET /users", false},
		{"GET /users/:id", "GET /users/17/posts", false},
		{"GET /users/:id?", "GET /users", true},
		{"GET /users/{id?}", "GET /users", true},
		{"GET /users/:id(\\d+)", "GET /users/17", true},
		{"GET /users/:id{[0-9]+}", "GET /users/17", true},
		{"GET /users/{id:[0-9]+}", "GET /users/17", true},
		{"GET /users/<id>", "GET /users/17", true},
		{"GET /files/*path", "GET /files/a/b", true},
		{"GET /files/*path", "GET /files", false},
		{"GET /files/{*path}", "GET /files", true},
		{"GET /files/{p*}", "GET /files/a/b", true},
		{"GET /files/{path...}", "GET /files/a/b", true},
		{"GET /files/*", "GET /files/a/b", true},
		{"GET /files/{p:.+}", "GET /files/a/b", true},
		{"GET /files/{p*2}", "GET /files/a/b", true},
		{"GET /:file{.+\\.png}", "GET /a/b.png", true},
		{"GET /search{/:kind}", "GET /search", true},
		{"GET /search{/:kind}", "GET /search/books", true},
		{"GET /search{/:kind}", "GET /search/books/new", false},
		{"GET /files{/*path}", "GET /files/a/b", true},
		{"GET {/:lang}/a{/:b{/:c}}", "GET /a/b/c", true},
		{"GET {/:lang}/a{/:b{/:c}}", "GET /en/a/b", true},
		{"GET /a{/:b", "GET /a/b", false},
		{"GET /report-:id.csv", "GET /report-17.csv", true},
		{"GET /report-:id.csv", "GET /report-17.pdf", false},
		{"GET|POST /search", "POST /search?q=a", true},
		{"GET|POST /search", "PUT /search", false},
		{"* /ping", "PUT /ping", true},
		{`GET /^\/rx(\d+)$/`, "GET /rx5?q=a", true},
		{`GET /^\/rx(\d+)$/`, "GET /rxs", false},
		{`GET /api/^\/rx$/i`, "GET /api/RX", true},
		{`GET /api/^\/rx$/i`, "GET /RX", false},
		{`GET /^\/(?=a)/`, "GET /a", false}, // Go has no such expression
		{"GET /", "HEAD /", true},
		{"GET /", "GET /x", false},
	} {
		if got := SameEndpoint(c.endpoint, c.name); got != c.same {
			t.Errorf("%s for %s: %t", c.endpoint, c.name, got)
		}
	}
	known := []string{"GET /users/:id", "GET /users/me", "GET /users/*", "GET /:a/:b"}
	for name, want := range map[string]string{"GET /users/me": "GET /users/me", "GET /users/17": "GET /users/:id", "GET /users/1/2": "GET /users/*", "GET /a/b": "GET /:a/:b", "GET /no": "GET /no"} {
		if got := EndpointFor(name, known); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
