package evidence

import (
	"encoding/binary"
	"math"
	"slices"
	"time"

	"whittle"
)

// MaxOutcomes bounds those of one message.
const MaxOutcomes = 2048

// Users' outcomes of one route as bytes; numbers are varints, those with a sign in zigzag:
//
//	version      2. Nothing else has it as the first byte
//	route        length and bytes
//	count
//	each:
//	  user       8 bytes
//	  at         nanoseconds since the one before, the first one's since 1970
//	  flags      1 the candidate was asked first, 2 it fell back, 4 both were bad
//	  status, latency in nanoseconds, place of the failure in failures
const outcomesVersion = 2

const (
	fromCandidate = 1 << iota
	outcomeFellBack
	bothBad
	knownOutcomeFlags = 1<<iota - 1
)

// failures are numbered by their place, which never changes.
var failures = []whittle.Failure{
	whittle.NoFailure, whittle.FailedConnect, whittle.FailedTimeout, whittle.FailedReset,
	whittle.FailedMalform, whittle.FailedTooLarge, whittle.FailedBusy, whittle.FailedCanceled,
}

// maxRoute bounds a route's name, in bytes.
const maxRoute = 64 << 10

// AppendOutcomes writes a route's outcomes behind b, at most MaxOutcomes of them. What the
// message's route is, an outcome's Route does not say.
func AppendOutcomes(b []byte, route string, all []whittle.Outcome) []byte {
	all = all[:min(len(all), MaxOutcomes)]
	b = append(binary.AppendUvarint(append(b, outcomesVersion), uint64(len(route))), route...)
	b = binary.AppendUvarint(b, uint64(len(all)))
	last := int64(0)
	for i := range all {
		o := &all[i]
		at := o.At.UnixNano()
		b = binary.LittleEndian.AppendUint64(b, o.User)
		b = binary.AppendVarint(b, at-last)
		for _, n := range []uint64{flags(o.Side == whittle.Candidate, o.FellBack, o.BothBad), uint64(max(0, o.Status)), uint64(max(0, o.Latency)), uint64(max(0, slices.Index(failures, o.Failure)))} {
			b = binary.AppendUvarint(b, n)
		}
		last = at
	}
	return b
}

// Outcomes reads what AppendOutcomes wrote; false: it did not.
func Outcomes(b []byte) (route string, all []whittle.Outcome, ok bool) {
	if len(b) == 0 || len(b) > MaxMessage || b[0] != outcomesVersion {
		return "", nil, false
	}
	in := cursor{b: b[1:]}
	route = in.text(maxRoute)
	n := in.number()
	if in.bad || n > MaxOutcomes {
		return "", nil, false
	}
	all = make([]whittle.Outcome, n)
	last := int64(0)
	for i := range all {
		all[i], last = in.outcome(last)
		all[i].Route = route
	}
	return route, all, !in.bad && len(in.b) == 0
}

func (c *cursor) outcome(last int64) (o whittle.Outcome, at int64) {
	o.User = c.fixed()
	at = last + c.signed()
	flags, status, latency, failure := c.number(), c.number(), c.number(), c.number()
	if flags > knownOutcomeFlags || status > math.MaxInt32 || latency > math.MaxInt64 || failure >= uint64(len(failures)) {
		c.bad, c.b = true, nil
		return o, at
	}
	o.At, o.Status, o.Latency, o.Failure = time.Unix(0, at), int(status), time.Duration(latency), failures[failure] //nolint:gosec // checked
	if flags&fromCandidate != 0 {
		o.Side = whittle.Candidate
	}
	o.FellBack, o.BothBad = flags&outcomeFellBack != 0, flags&bothBad != 0
	return o, at
}
