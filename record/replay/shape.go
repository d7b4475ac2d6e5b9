package replay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"mime"
	"net/url"
	"slices"
	"strings"

	"whittle"
	"whittle/record/capture"
)

const (
	shapeBody  = 64 << 10 // bytes of a body that are looked at
	shapeText  = 240      // bytes of a shape's name
	shapeDepth = 8
	// shapesMost bounds the shapes that are tracked; new ones then share one
	// name.
	shapesMost = 4096
	moreShapes = "(more shapes)"
)

// shapeOf names the structure of a recorded exchange without its values: method
// and route, status, the names in the query, and the structure of the request's
// body, in which numbers are distinguished by kind. Show redacts each name: in the whole, a kind
// after the name of a secret would look like the secret.
func shapeOf(route string, e *capture.Entry, show func(string) string) string {
	var b strings.Builder
	if !strings.HasPrefix(route, e.Request.Method+" ") {
		b.WriteString(e.Request.Method + " ")
	}
	b.WriteString(show(route))
	if _, query, _ := strings.Cut(e.Request.Target, "?"); query != "" {
		b.WriteString("?" + namesOf(query, show))
	}
	if body := structure(&e.Request, show); body != "" {
		b.WriteString(" " + body)
	}
	if e.Response.Failure != whittle.NoFailure {
		b.WriteString(" → no response")
	} else {
		fmt.Fprintf(&b, " → %d", e.Response.Status)
	}
	return shorten(b.String())
}

// shorten cuts a long name and appends a hash that keeps it unique.
func shorten(s string) string {
	if len(s) <= shapeText {
		return s
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s)) // a hash does not fail
	return fmt.Sprintf("%s… #%08x", strings.ToValidUTF8(s[:shapeText], ""), h.Sum32())
}

func namesOf(query string, show func(string) string) string {
	values, _ := url.ParseQuery(query) // what cannot be read is no name
	names := slices.Sorted(maps.Keys(values))
	for i := range names {
		names[i] = show(names[i])
	}
	return strings.Join(names, "&")
}

func structure(q *whittle.Request, show func(string) string) string {
	if len(q.Body) == 0 {
		return ""
	}
	kind, _, err := mime.ParseMediaType(q.Header.Get("Content-Type"))
	if len(q.Body) <= shapeBody { // first, since curl -d says of JSON too that it is a form
		var v any
		d := json.NewDecoder(strings.NewReader(string(q.Body)))
		d.UseNumber()
		if d.Decode(&v) == nil && !d.More() {
			return skeleton(v, 0, show)
		}
	}
	if err == nil && kind == "application/x-www-form-urlencoded" {
		return "form " + namesOf(string(q.Body[:min(len(q.Body), shapeBody)]), show)
	}
	return show(cmp.Or(kind, "a body"))
}

// skeleton writes a JSON value's structure: {"a":integer,"b":[text]}.
func skeleton(v any, depth int, show func(string) string) string {
	if depth > shapeDepth {
		return "…"
	}
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, show(name)+":"+skeleton(v[name], depth+1, show))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		kinds := map[string]bool{}
		for _, e := range v {
			kinds[skeleton(e, depth+1, show)] = true
		}
		return "[" + strings.Join(slices.Sorted(maps.Keys(kinds)), "|") + "]"
	case json.Number:
		return numberKind(v.String())
	case string:
		if v == "" {
			return `""`
		}
		return "text"
	case bool:
		return "bool"
	}
	return "null"
}

func numberKind(s string) string {
	switch {
	case s == "0":
		return "0"
	case strings.ContainsAny(s, ".eE"):
		return "decimal"
	case s[0] == '-':
		return "negative"
	}
	return "integer"
}

// Shape is a kind of request and what became of it.
type Shape struct {
	Shape string `json:"shape"`
	Route string `json:"route"`
	// Recorded exchanges have the shape, Compared were compared, and Differing
	// got a different response.
	Recorded  int64 `json:"recorded"`
	Compared  int64 `json:"compared"`
	Differing int64 `json:"differing"`
	// Why is the reason why the last one was not compared; empty: it was.
	Why string `json:"why,omitempty"`
}

// shapes counts exchanges by shape, within bounds.
type shapes map[string]*Shape

func (s shapes) of(name, route string) *Shape {
	if one := s[name]; one != nil {
		return one
	}
	if len(s) >= shapesMost {
		if one := s[moreShapes]; one != nil {
			return one
		}
		name, route = moreShapes, ""
	}
	one := &Shape{Shape: name, Route: route}
	s[name] = one
	return one
}
