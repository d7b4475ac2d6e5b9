package config

import (
	"strings"
	"testing"
)

// TestOtherRoutersSpelling holds that a match in another router's spelling is
// refused with the right one, which is a match itself, and that nothing of it
// is taken for letters in silence.
func TestOtherRoutersSpelling(t *testing.T) {
	for written, right := range map[string]string{
		// Express, Gin, Echo, Rails, Sinatra, Fastify
		"GET /users/:id":                   "/users/{id}",
		"/users/:id/":                      "/users/{id}/",
		"/users/:userId/orders/:order_id":  "/users/{userId}/orders/{order_id}",
		"/users/:id?":                      "/users/{id}",
		`/users/:id(\d+)`:                  "/users/{id}",
		`/users/:id([0-9]{4})`:             "/users/{id}",
		"/users/:id(.:format)":             "/users/{id}",
		"/users/:user_id/friends/:user_id": "/users/{user_id}/friends/{user_id2}",
		"/files/*":                         "/files/{rest...}",
		"/files/*path":                     "/files/{path...}",
		"/files/*splat":                    "/files/{splat...}",
		"/files/:rest*":                    "/files/{rest...}",
		"/files/:rest+":                    "/files/{rest...}",
		"/files/:rest(.*)":                 "/files/{rest...}",
		"/*":                               "/{rest...}",
		"/flights/:from-:to":               "/flights/{from}",
		"/@:user":                          "/{user}",
		"/users/:id.json":                  "/users/{id}",
		"/users.:format":                   "/{format}",
		"/users/*/orders":                  "/users/{id}/orders",
		"/a/*/b/*/c":                       "/a/{id}/b/{id2}/c",
		"/files/*path/raw":                 "/files/{path...}",
		// gorilla, chi, JAX-RS, Spring, Ktor, hapi, OpenAPI with dashes
		"/users/{id:[0-9]+}":        "/users/{id}",
		"/users/{id: [0-9]+}":       "/users/{id}",
		"GET /users/{id: [0-9]+}/x": "/users/{id}/x",
		`/users/{id:\d{4}}`:         "/users/{id}",
		"/files/{rest:.*}":          "/files/{rest...}",
		"/files/{rest:.+}":          "/files/{rest...}",
		"/files/{name:[^/]+}":       "/files/{name}",
		"/files/{*rest}":            "/files/{rest...}",
		"/files/{**rest}":           "/files/{rest...}",
		"/files/{rest*}":            "/files/{rest...}",
		"/files/{+rest}":            "/files/{rest...}",
		"/files/{...}":              "/files/{rest...}",
		"/files/{...rest}":          "/files/{rest...}",
		"/files/**":                 "/files/{rest...}",
		"/files/**/raw":             "/files/{rest...}",
		"/users/{user-id}":          "/users/{user_id}",
		"/users/{user.id}":          "/users/{user_id}",
		"/users/{}":                 "/users/{id}",
		"/users/{id?}":              "/users/{id}",
		"/users/{id=5}":             "/users/{id}",
		"/users/{id:int}":           "/users/{id}",
		"/files/{name=**}":          "/files/{name...}",
		"/files/{rest:path}":        "/files/{rest...}",
		// Flask, Django, Bottle, Rocket
		"/users/<id>":             "/users/{id}",
		"/users/<int:id>":         "/users/{id}",
		"/users/<uuid:user_id>/x": "/users/{user_id}/x",
		"/users/<id:int>":         "/users/{id}",
		"/files/<path:rest>":      "/files/{rest...}",
		"/files/<rest:path>":      "/files/{rest...}",
		"/files/<rest..>":         "/files/{rest...}",
		"/x/<any(a,b):which>":     "/x/{which}",
		"/users/<id>.json":        "/users/{id}",
		// Next.js, SvelteKit
		"/users/[id]":       "/users/{id}",
		"/users/[id=int]":   "/users/{id}",
		"/docs/[...slug]":   "/docs/{slug...}",
		"/docs/[[...slug]]": "/docs/{slug...}",
		// globs and regular expressions
		"/static/*.js":       "/static/{id}",
		"/static/**/*.js":    "/static/{rest...}",
		"/ab*":               "/{id}",
		`/users/\d+`:         "/users/{id}",
		`/users/\d+$`:        "/users/{id}",
		"/users/[0-9]+":      "/users/{id}",
		"/users/([0-9]+)":    "/users/{id}",
		`/users/(?P<id>\d+)`: "/users/{id}",
		"/files/(.*)":        "/files/{rest...}",
		"/files/.*":          "/files/{rest...}",
		"/files/.+":          "/files/{rest...}",
		"/foo(/|$)(.*)":      "/{rest...}",
		"/(a|b)/c":           "/{id}/c",
		"/users/{id}.json":   "/users/{id}",
		"/v{version}/users":  "/{version}/users",
		"/v1/{name}:cancel":  "/v1/{name}",
		"/users$":            "/users",
		"/users/{id}$":       "/users/{id}",
	} {
		_, err := parseMatch(written)
		if err == nil {
			t.Errorf("%s: taken letter by letter", written)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, "write "+right+" (") && !strings.Contains(text, "write "+right+", or ") {
			t.Errorf("%s: %s; want %s", written, text, right)
		}
		if _, err := parseMatch(right); err != nil {
			t.Errorf("%s: advised is %s, which is refused: %v", written, right, err)
		}
		pattern := written[strings.IndexByte(written, '/'):]
		if m, err := parseMatch(literally(pattern)); err != nil || !strings.Contains(text, ", or "+m.Pattern+" for") {
			t.Errorf("%s: the letters themselves: %v, %v", written, m, err)
		}
	}
}

// TestPlainNamesAreTaken holds that names which only look like wildcards stay
// what they are.
func TestPlainNamesAreTaken(t *testing.T) {
	for _, match := range []string{
		"/", "GET /", "/users/", "/users/{id}", "/files/{rest...}", "/users/{$}", "GET /users/{id}/orders/{order_id}/",
		"POST /v1/items:batchGet", "/urn:isbn:123", "/Products(1)", "/Products('a')/$value", "/$metadata", "/odata/$batch",
		"/a.b.c", "/a-b_c~d", "/a;b=c", "/@user", "/a,b", "/a+b", "/c++", "/!important", "/a&b", "/a=b", "/%7Bid%7D", "/files/%2A", "/ü",
		"PROPFIND /dav/{rest...}", "M-SEARCH /x", "VERSION-CONTROL /x", "/.well-known/acme-challenge/{token}", "/a//b",
	} {
		if _, err := parseMatch(match); err != nil {
			t.Errorf("%s: %v", match, err)
		}
	}
}

// TestMatchWithoutOneMethod holds that what stands where one method belongs is
// not taken for a method that no request has.
func TestMatchWithoutOneMethod(t *testing.T) {
	for match, want := range map[string]string{
		"GET|POST /a":    "write two routes",
		"GET,POST /a":    "write two routes",
		"[GET] /a":       "write two routes",
		"* /a":           "write /a alone for every method",
		"ANY /a":         "write /a alone for every method",
		"all /a":         "write /a alone for every method",
		"GET":            "does not begin with /",
		"~ ^/users":      "does not begin with /",
		"GET http://h/a": "does not begin with /",
		"/a GET":         "is not a match",
		"":               "is not a match",
	} {
		if _, err := parseMatch(match); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", match, err, want)
		}
	}
}

// FuzzForeignPattern holds that whatever is refused as foreign comes with
// spellings that are taken.
func FuzzForeignPattern(f *testing.F) {
	for _, s := range []string{"/users/:id", "/{a:[0-9]{2}}/b", "/<int:a>/*", "/[...a]/{b...}", "/(a|b)/.*", "/a/{", "/{}}{"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		err := foreignPattern(pattern)
		if err == nil {
			return
		}
		_, rest, ok := strings.Cut(err.Error(), "is all that follows: write ")
		right, _, ok2 := strings.Cut(rest, " ")
		if right = strings.TrimSuffix(right, ","); !ok || !ok2 {
			t.Fatalf("%q: nothing advised in %v", pattern, err)
		}
		if strings.ContainsAny(pattern, " \t\r\n\v\f") || strings.ContainsAny(right, "?#%") || !strings.Contains(right, "{") || tryPattern(right) != nil && tryPattern(pattern) != nil {
			return // something else is wrong with it as well
		}
		if again := foreignPattern(right); again != nil {
			t.Fatalf("%q: advised is %q, which is foreign: %v", pattern, right, again)
		}
	})
}
