package plan

import "math/rand/v2"

// Fault is what an upstream does to a response, or to its connection.
type Fault uint8

// The faults. Up to LastHarmless the one who asks gets a whole response, over
// a connection of his own too.
const (
	None         Fault = iota
	Sliced             // in many small writes
	StallHead          // silence before the head
	StallBody          // silence in the middle of the body
	Early              // the response comes before the request's body has been read
	EarlyClose         // likewise, and then no more is written
	Informed           // a 103 comes before
	HalfClose          // the upstream says that it is the last, writes no more, and still reads
	CloseAfter         // the upstream says that it is the last, and closes
	SoonClosed         // the connection is closed when it has been idle for little more than a second
	ReuseClose         // a kept connection is closed when the request has come, a new one serves
	GarbageAfter       // bytes that nobody asked for follow
	SecondAfter        // a whole second response follows
	LastHarmless       // their end

	ResetBefore     // the connection is reset in place of a response
	CloseBefore     // it is closed
	ResetHead       // in the head
	CloseHead       // in the head
	ResetBody       // in the body
	CloseBody       // in the body
	Garbage         // what comes is no HTTP
	BadChunk        // a chunk's size is none
	Silence         // nothing comes
	NumberOfFaults_ // their number
)

var faultNames = [...]string{
	"none", "sliced", "stall before the head", "stall in the body", "early response", "early response, then closed", "103 before", "half-closed after",
	"closed after", "soon closed", "closed after, unannounced", "closed at reuse", "garbage after", "second response after", "",
	"reset before the head", "closed before the head", "reset in the head", "closed in the head", "reset in the body", "closed in the body",
	"garbage", "bad chunk", "silence",
}

func (f Fault) String() string { return faultNames[f] }

// Harmless reports whether direct access gets a whole response all the same.
func (f Fault) Harmless() bool { return f < LastHarmless }

// fits reports whether a fault can be had with the rest of the plan.
func (f Fault) fits(p *Plan) bool {
	body := !p.Bodiless() && p.Length > 1
	switch f {
	case StallBody, ResetBody, CloseBody:
		return body && (f != CloseBody || p.Framing != ByClose)
	case Early, EarlyClose:
		return p.Upload > 0 && p.Way != Expect && p.Framing != ByClose && !p.Once // whose upload is checked before it is done
	case BadChunk:
		return body && p.Framing == ByChunks
	case GarbageAfter, SecondAfter: // in one piece with the response, or nobody could tell
		return p.Framing == ByLength && p.Length < 4<<10 && p.Upload < 4<<10
	case HalfClose, CloseAfter, SoonClosed:
		return p.Framing != ByClose
	case ReuseClose:
		return p.Repeatable()
	default:
		return true
	}
}

// drawFault draws one: mostly none, else harmless in three of four.
func drawFault(r *rand.Rand, p *Plan, in int) Fault {
	if !one(r, in) {
		return None
	}
	var f Fault
	if one(r, 4) {
		f = LastHarmless + 1 + Fault(r.IntN(int(NumberOfFaults_-LastHarmless)-1)) //nolint:gosec // below 256
	} else {
		f = 1 + Fault(r.IntN(int(LastHarmless)-1)) //nolint:gosec // as above
	}
	if f == Silence && !one(r, 20) || !f.fits(p) { // silence keeps a user for seconds
		return None
	}
	return f
}
