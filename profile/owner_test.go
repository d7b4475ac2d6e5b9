package profile

import "testing"

// A method of a type with arguments keeps its name, and its package goes without the path.
func TestShortNames(t *testing.T) {
	for name, want := range map[string]string{
		"net/http.(*conn).serve":                          "http.(*conn).serve",
		"main.(*Cache[...]).Get":                          "main.(*Cache).Get",
		"shop/api.Get[go.shape.struct { net/http.X }]":    "api.Get",
		"shop/api.(*Of[go.shape.[]int,go.shape.int]).All": "api.(*Of).All",
		"shop/api.(*Of[go.shape.[]int]).All.func1":        "api.(*Of).All.func1",
		`RegExp: ^/a/[b-z]+$`:                             `RegExp: ^/a/[b-z]+$`,
		"handler of GET /a/b":                             "handler of GET /a/b",
		"draw":                                            "draw",
		"[unknown":                                        "[unknown",
		"[unknown]":                                       "[unknown]",
		"[Symbol.iterator]":                               "[Symbol.iterator]",
	} {
		if got := ShortName(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
