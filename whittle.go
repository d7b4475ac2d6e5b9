// Package whittle holds the types that every package shares: what an
// exchange is, what a route's config says, what a verdict says, which share of
// the traffic the candidate has. It imports the standard library only and does
// nothing by itself.
package whittle

import "time"

// Side names who answered. The two are never swapped: the monolith is what
// users depend on today, the candidate is what may replace it.
type Side uint8

// The two sides of an exchange.
const (
	Monolith Side = iota
	Candidate
)

// String is "monolith" or "candidate".
func (s Side) String() string {
	if s == Candidate {
		return "candidate"
	}
	return "monolith"
}

// Header is a multi-valued header with canonical names (Content-Type). It
// converts to net/http's Header without copying.
type Header map[string][]string

// Get gives the first value of a header named in canonical form, or "".
func (h Header) Get(name string) string {
	if v := h[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Request is a request as the gateway saw it: a bounded copy that belongs to
// whoever holds the exchange.
type Request struct {
	Method string
	// Target is the path with the raw query as the client sent it.
	Target string
	Host   string
	Header Header
	// Body holds all of the body, or its first bytes where Truncated is set.
	Body []byte
	// Truncated says that the body was longer than the capture's bound.
	Truncated bool
}

// Response is one side's response to a request, or the failure to give one.
type Response struct {
	// Status is the HTTP status, 0 where Failure is set.
	Status int
	Header Header
	// Trailer is what followed the body; nil where nothing did.
	Trailer Header
	// Body holds all of the body, or its first bytes where Truncated is set.
	Body []byte
	// Truncated says that the body was longer than the capture's bound.
	Truncated bool
	// Latency is from the first byte sent upstream to the last byte read.
	Latency time.Duration
	// Failure is empty where a response came.
	Failure Failure
	// Detail explains the failure to an operator.
	Detail string
}

// Failure is the way in which a side gave no usable response.
type Failure string

// The ways to fail.
const (
	NoFailure      Failure = ""
	FailedConnect  Failure = "connect"   // no connection: refused, unreachable, TLS
	FailedTimeout  Failure = "timeout"   // no whole response within the route's bound
	FailedReset    Failure = "reset"     // the connection broke before the response was whole
	FailedMalform  Failure = "malformed" // what came was not HTTP, or not of the contract
	FailedTooLarge Failure = "too_large" // the response was longer than the bound
	FailedBusy     Failure = "busy"      // none of the connections allowed was free: nothing was sent
	FailedCanceled Failure = "canceled"  // the client, or whittle's own shutdown, ended it
)

// Neutral reports whether a failure says nothing of the side: the client ended the
// request, or it was never sent.
func (f Failure) Neutral() bool { return f == FailedCanceled || f == FailedBusy }

// OK reports whether a response came and is not a server error.
func (a *Response) OK() bool { return a.Failure == NoFailure && a.Status < 500 }

// Exchange is one request with both responses to it. It is immutable once sent
// on: each room reads it, none writes.
type Exchange struct {
	// Route is the name of the route that matched.
	Route string
	// Conn distinguishes the client's connections within one run of the gateway,
	// from 1; 0: not known. The exchanges of one connection are in order.
	Conn uint64
	// User distinguishes users: a hash of the sticky key. 0: not known.
	User uint64
	// At is when the request arrived.
	At time.Time
	// FirstChance is the chance, at the share in force, that a user whose exchange
	// is compared is one for whom the candidate is asked first; 0: not known.
	FirstChance float64
	// Served says whose answer the user got, or who was asked first where Unserved.
	Served Side
	// Unserved says that no user got either response: whittle asked both sides itself, in an
	// order that it drew. So both orders speak for one verdict, and neither of what users got.
	Unserved bool
	// FellBack says that the candidate was asked first and failed, so that both
	// responses were asked for the user's sake.
	FellBack bool
	// Request is what the user sent, not what transcoding made of it.
	Request Request
	// Monolith and Candidate are the responses, the candidate's already mapped
	// back to what the monolith's clients expect.
	Monolith  Response
	Candidate Response
	// Repeat is a second response of the monolith to the same request, taken now
	// and then to learn what differs by itself. Nil for most exchanges.
	Repeat *Response
}

// First says which side was asked first. It can matter: a candidate that reads
// what the monolith has just written, or cached, is right only when it is asked
// second, and users ask it first.
func (x *Exchange) First() Side {
	if x.FellBack {
		return Candidate
	}
	return x.Served
}

// Outcome is what became of one user's request on a route that has a
// candidate; guards count these.
type Outcome struct {
	Route string
	// User distinguishes users: a hash of the sticky key. 0: not known.
	User uint64
	At   time.Time
	// Side is who was asked first.
	Side Side
	// Status is that side's status, 0 where it failed.
	Status  int
	Failure Failure
	// Latency is that side's time to the last byte.
	Latency time.Duration
	// FellBack says that the candidate failed and the monolith then answered.
	FellBack bool
	// BothBad says that the candidate failed, and that the monolith failed at the
	// same request after it: the error is not the candidate's own.
	BothBad bool
}

// Bad reports whether the side failed or gave a server error. A request that
// the client itself ended, or that was never sent, is not bad.
func (o *Outcome) Bad() bool {
	if o.Failure.Neutral() {
		return false
	}
	return o.Failure != NoFailure || o.Status >= 500
}

// Share is the part of a route's users that the candidate serves, in basis
// points: 0 (none) to 10,000 (all).
type Share uint16

// All is the whole of the traffic.
const All Share = 10_000

// Percent makes a share of a percentage, clamped to 0..100.
func Percent(p float64) Share {
	switch {
	case p <= 0:
		return 0
	case p >= 100:
		return All
	}
	return Share(p*100 + 0.5)
}

// Percent gives the share in percent.
func (s Share) Percent() float64 { return float64(s) / 100 }
