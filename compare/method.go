package compare

import (
	"encoding"

	"whittle"
)

// Observation is what became of one exchange.
type Observation = whittle.Observation

// method is one kind of comparison of two answers with equal status and
// content type. It is deterministic and not safe for concurrent use.
type method interface {
	// observe takes an exchange to which both answers came, whole.
	observe(x *whittle.Exchange) Observation
	// report gives what has been found so far. alpha is the method's part of
	// the error rate, the same at every call and equal to what methodAlpha
	// gives for the method's Comparison. moreNeeded estimates the exchanges
	// still missing until every bound lies inside its margin: 0 where they do,
	// -1 where it cannot be said.
	report(alpha float64) (findings []whittle.Finding, bounds []whittle.Bound, moreNeeded int)

	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// How the error rate of a whole rollout is split. Every e-process is held to
// its own part, so the sum is what is promised.
const (
	methodPart = 0.85 // the method's own findings
	headPart   = 0.03 // each of status, content type, failure, and the two of headers
)

// alphaOf is the promised error rate of a whole rollout.
func alphaOf(c whittle.Comparison) float64 {
	if c.Confidence <= 0 || c.Confidence >= 1 {
		return 0.01
	}
	return 1 - c.Confidence
}

// methodAlpha is the part of the error rate that a method may spend.
func methodAlpha(c whittle.Comparison) float64 { return methodPart * alphaOf(c) }

// newMethod makes the method of a comparison.
func newMethod(c whittle.Comparison) (method, error) {
	switch c.Kind {
	case whittle.Exact, whittle.JSON:
		return newMatch(c)
	case whittle.Statistical:
		return newStatistical(c)
	}
	return nil, whittle.Errorf(whittle.Invalid, "unknown kind of comparison %q", c.Kind).
		WithField("compare.kind").WithHint("write exact, json or statistical")
}
