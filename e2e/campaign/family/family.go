// Package family holds the endpoints that the mutation campaign tries whittle
// on. Each family has a monolith and a twin, which owes the same requests the same
// responses and writes its JSON in another style. They share the rows of a database; each
// draws its own random ids and reads its own clock.
package family

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"whittle"
)

// World is what one side sees when it is asked.
type World struct {
	// Now is the side's own clock.
	Now time.Time
	// Rand is the side's own source of ids and draws.
	Rand *rand.Rand
	// Orders is the table that both sides write to.
	Orders *Orders
}

// Service responds to one request.
type Service func(w *World, q *whittle.Request) whittle.Response

// Family is one endpoint, twice.
type Family struct {
	Name string
	// Route is the rest of the route's config behind its candidate, in YAML.
	Route string
	// Request draws what a user sends.
	Request  func(r *rand.Rand, user uint64) whittle.Request
	Monolith Service
	// Latency is the median of either side; its distribution is log-normal.
	Latency time.Duration
	// Places are where the responses carry what can go wrong.
	Places []Place
}

// Twin responds as the monolith does, with JSON written another way.
func (f *Family) Twin(w *World, q *whittle.Request) whittle.Response {
	a := f.Monolith(w, q)
	if a.Header["Content-Type"][0] == JSONType {
		a.Body = restyled(w, a.Body)
	}
	return a
}

// Kind is what a value means.
type Kind string

// The kinds of values.
const (
	Money    Kind = "money"    // a decimal amount
	Float    Kind = "float"    // a number with a fraction that is no amount
	Count    Kind = "count"    // a whole number
	Text     Kind = "text"     // words for people, beyond ASCII too
	Enum     Kind = "enum"     // one of a few words
	Ref      Kind = "ref"      // an id that stays
	ID       Kind = "id"       // an id that is new each time
	Time     Kind = "time"     // a moment that stays, RFC 3339
	Expiry   Kind = "expiry"   // a moment at a fixed distance from now
	List     Kind = "list"     // a list of objects
	Nullable Kind = "nullable" // null at times
	Flag     Kind = "flag"     // true or false
	Cookie   Kind = "cookie"   // a Set-Cookie header
	Header   Kind = "header"   // a header of the endpoint's own
)

// In is the part of a response that a place lies in.
type In uint8

// The parts of a response.
const (
	Body   In = iota // JSON, by a path
	Line             // text, by the beginning of a line
	Column           // CSV, by the column's index
	InHead           // a header, by its name
)

// Place is where a value of a kind stands in a family's responses.
type Place struct {
	Kind Kind
	In   In
	// Path is "total", "items.*.price", a line's beginning or a header's name.
	Path string
	// Column of a CSV.
	Column int
}

// Has reports whether a response of the family carries a value of a kind, and
// where the first of them is.
func (f *Family) Has(kind Kind) (Place, bool) {
	for _, p := range f.Places {
		if p.Kind == kind {
			return p, true
		}
	}
	return Place{}, false
}

// Named is the family of a name.
func Named(t testing.TB, name string) *Family {
	t.Helper()
	for _, f := range All() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("no family %q", name)
	return nil
}

// All are the families, in the order in which the campaign shows them.
func All() []*Family {
	return []*Family{
		profile(), money(), bookings(), quotes(), shipments(), terms(), export(),
		login(), graphql(), count(), orders(), search(),
	}
}

// JSONType is the content type of JSON responses.
const JSONType = "application/json"

// object is an object of JSON.
type object map[string]any

// respondJSON responds with a value as encoding/json writes it.
func respondJSON(status int, v object, header ...string) whittle.Response {
	text, err := json.Marshal(v)
	if err != nil {
		return respond(500, JSONType, `{"error":"internal"}`)
	}
	return respond(status, JSONType, string(text), header...)
}

// nullable is a value that is null where it is not there.
func nullable(there bool, value any) any {
	if there {
		return value
	}
	return nil
}

// byID is an endpoint of what a number in its path names, and refuses all else.
func byID(serve func(w *World, id uint64) whittle.Response) func(*World, *whittle.Request) whittle.Response {
	return func(w *World, q *whittle.Request) whittle.Response {
		path, _ := parts(q)
		id, ok := number(path[1])
		if !ok {
			return respond(400, JSONType, `{"error":"bad id"}`)
		}
		return serve(w, id)
	}
}

func respond(status int, contentType, body string, header ...string) whittle.Response {
	h := whittle.Header{"Content-Type": {contentType}}
	for i := 0; i+1 < len(header); i += 2 {
		h[header[i]] = append(h[header[i]], header[i+1])
	}
	return whittle.Response{Status: status, Header: h, Body: []byte(body)}
}
