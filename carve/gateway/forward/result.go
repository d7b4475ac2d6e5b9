package forward

import (
	"time"

	"whittle"
	"whittle/carve/gateway/inbound"
)

// Result is what became of one forwarded request.
type Result struct {
	// Side is filled in by the route; the pass-through half leaves it alone.
	Side whittle.Side
	// Status is what the upstream answered, 0 where it gave no head. What the
	// client got instead (502, 504, 413) is in Sent.
	Status int
	// Sent is the status that the client got; 0 where it got none.
	Sent    int
	Failure whittle.Failure
	// Detail explains the failure to an operator; never sent to a client.
	Detail string
	// Upstream is the address of the instance that responded, or that of the upstream
	// where none did.
	Upstream string
	// In and Out are the bytes that passed through an upgraded connection, from the
	// client and to it.
	In, Out int64
	// Latency is from turning to the upstream to the last byte read of it, without
	// the time in which the client was waited for: for the request's body, and to
	// take the response.
	Latency time.Duration
	// Wrote says that something of a final response has reached the
	// ResponseWriter: from then on nobody else can respond instead.
	Wrote bool
	// Refused says that Options.Accept discarded the response.
	Refused bool
	// Streamed says that the response was an upgrade or an event stream.
	Streamed bool
	// Abort says that a response begun cannot be ended truthfully, so that the
	// client's connection must be cut. Whoever serves hands it up; the handler
	// does the cutting after everything else has been accounted for.
	Abort bool
}

// Options says how a request is forwarded. The zero value passes every response
// on and turns every failure into a 502 or 504.
type Options struct {
	// Tap sees the exchange go by. Nil: nobody does.
	Tap Tap
	// Accept is asked once, with the status of a final response, before anything
	// of it is written. False discards the response (Result.Refused), so that
	// another upstream may be asked. With Accept set, a failure before the
	// head writes nothing to the client either, and informational responses are
	// not passed on.
	Accept func(status int) bool
	// Head gets the status of a final response that is not an upgrade, before anything of it
	// is written. Nil: nobody does.
	Head func(status int)
}

// Tap sees an exchange go by. RequestBody may run at the same time as the
// response's methods, and no method is called after Forward has returned. None
// may block, and no slice may be kept; the maps belong to the tap.
type Tap interface {
	inbound.Tap
	// ResponseHead gets the final status and the end-to-end header.
	ResponseHead(status int, h whittle.Header)
	// ResponseBody gets the response's body piece by piece, as it is read.
	ResponseBody(p []byte)
	// ResponseTrailer is called only where a trailer came.
	ResponseTrailer(h whittle.Header)
}
