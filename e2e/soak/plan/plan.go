// Package plan says what each request of a soak is: how it is asked, which fault its
// upstream has for it, what must come back, and whether direct access would have
// got it. All of it follows from the run's seed and the request's number, and goes
// with the request in one header, so that no upstream has to be told in advance.
package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
)

// Header carries a plan in a request, and Of in a response the number that it is for.
const (
	Header = "X-Soak"
	Of     = "X-Soak-Of"
)

// Statuses that an upstream has for what must never happen.
const (
	StatusDoubled = 597 // a write arrived twice
	StatusDamaged = 598 // an upload is not what was sent
)

// Way is how a request is asked.
type Way uint8

// The ways.
const (
	Get Way = iota
	Head
	Post    // a body of known length
	Chunked // a body of unknown length
	Expect  // a body that waits for 100 Continue
	Events  // an event stream
)

var wayNames = [...]string{"GET", "HEAD", "POST", "chunked upload", "Expect", "event stream"}

func (w Way) String() string { return wayNames[w] }

// Framing is how the end of a response's body is known.
type Framing uint8

// The framings.
const (
	ByLength Framing = iota
	ByChunks
	ByClose
)

// Plan is one request and its response.
type Plan struct {
	Number  uint64
	Seed    uint64 // of the run
	Way     Way
	Status  int
	Upload  int // bytes of the request's body
	Length  int // bytes of the response's body; the messages of a stream
	Framing Framing
	Trailer bool
	// Fault is the monolith's, Candidate the candidate's.
	Fault, Candidate Fault
	// Once says that the request is a write which may be done once only.
	Once bool
	// Route is the first part of the path; empty: no route has it.
	Route string
}

// Method is the request's.
func (p *Plan) Method() string {
	switch p.Way {
	case Get, Events:
		return http.MethodGet
	case Head:
		return http.MethodHead
	default:
		return http.MethodPost
	}
}

// Path is the request's.
func (p *Plan) Path() string {
	route := p.Route
	if route == "" {
		route = "through"
	}
	return "/" + route + "/" + strconv.FormatUint(p.Number, 10)
}

// Bodiless reports whether the response has a head alone.
func (p *Plan) Bodiless() bool {
	return p.Way == Head || p.Status == http.StatusNoContent || p.Status == http.StatusNotModified
}

// Repeatable reports whether a client may send the request again without asking.
func (p *Plan) Repeatable() bool { return p.Way == Get || p.Way == Head || p.Way == Events }

// Text is the plan as its header has it.
func (p *Plan) Text() string {
	b, _ := json.Marshal(p) // of numbers and names
	return string(b)
}

// Parse reads a Text.
func Parse(text string) (p *Plan, err error) {
	if err = json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("%s %.100q: %w", Header, text, err)
	}
	return p, nil
}

// random is the source of all that is drawn for one request.
func random(seed, number uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, number)) }

// one in n.
func one(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }
