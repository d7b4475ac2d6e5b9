package pattern

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"whittle/carve/config"
	"whittle/internal/fatal"
)

// TestRecordedPathsAreMatches holds that whatever a recorded path is made of, its
// pattern is one that a config takes, and matches that path.
func TestRecordedPathsAreMatches(t *testing.T) {
	for _, literal := range []string{
		"users", ":id", "items:batchGet", "@:user", "a.:b", "*", "**", "*.js", "a*", "<id>", "[id]", "[...slug]", "{id}", "{id:[0-9]+}",
		"(.*)", ".*", "a.+b", "[0-9]+", "a$", "$metadata", "$", "Products(1)", "a|b", "a^", `a\d`, "ü", "a b", "100%", "a+b", "c++", "~x", ";a=b",
	} {
		made := Of([]Segment{{Literal: literal}, {Literal: "x"}}, nil)
		f, err := config.Parse("w.yaml", []byte("monolith: http://h\nroutes: [{match: '"+strings.ReplaceAll(made, "'", "''")+"'}]\n"), nil)
		if err != nil {
			t.Errorf("%q: %v", literal, err)
			continue
		}
		mux := http.NewServeMux()
		mux.HandleFunc(f.Routes[0].Match.Pattern, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/"+url.PathEscape(literal)+"/x", http.NoBody))
		fatal.Same(t, w.Code, http.StatusTeapot, "%q: does %s match it?", literal, made)
		if segments, ok := Parse(made); !ok || segments[0].Literal != literal {
			t.Errorf("%q: %s is read as %v", literal, made, segments)
		}
	}
}
