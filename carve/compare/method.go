package compare

import (
	"encoding"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/eprocess"
)

// Observation is what became of one exchange.
type Observation = whittle.Observation

// method is one kind of comparison of two responses with equal status and
// content type. It is deterministic and not safe for concurrent use.
type method interface {
	// Observe takes an exchange to which both responses came, whole.
	Observe(x *whittle.Exchange) Observation
	// Report gives the findings and bounds so far, these at the level alpha, the same at every call.
	// moreNeeded estimates the exchanges that are still needed until every bound lies
	// inside its margin: 0 if they do, -1 if that is unknown.
	Report(alpha float64) (findings []whittle.Finding, bounds []whittle.Bound, moreNeeded int)
	// Open is how many exchanges differ undeclared at a place at which the
	// monolith was not seen to vary.
	Open() int
	// Places are where two bodies differ undeclared, each once. rare are those at
	// which the monolith varies by itself, but seldom.
	Places(a, b *whittle.Response) (list, rare []string)
	// Varies takes note that the monolith gave two different responses to the same
	// request.
	Varies(a, b *whittle.Response)

	// ShowBy has what is kept and shown of exchanges redacted, and ShowAgain what was restored.
	ShowBy(show *display.View)
	ShowAgain()

	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// longer is the larger of two estimates of how many exchanges something still takes; -1, that it
// cannot be said, where it cannot be said of either.
func longer(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return max(a, b)
}

// alphaOf is the promised error rate of a whole rollout.
func alphaOf(c whittle.Comparison) float64 {
	return eprocess.Alpha(c.Confidence)
}

// methodAlpha is the part of the error rate that a method may spend.
func methodAlpha(c whittle.Comparison) float64 { return eprocess.OfMain * alphaOf(c) }

// newMethod makes the method of a comparison, which spends the part of
// methodAlpha on what it tests.
func newMethod(c whittle.Comparison, part float64) (method, error) {
	switch c.Kind {
	case whittle.Exact, whittle.JSON:
		m, err := newMatch(c)
		if err != nil {
			return nil, err
		}
		m.alpha *= part
		return m, nil
	case whittle.Statistical:
		return newRandom(c, part*methodAlpha(c))
	}
	return nil, whittle.Errorf(whittle.Invalid, "unknown kind of comparison %q", c.Kind).
		WithField("compare.kind").WithHint("write exact, json or statistical")
}

// ServedNeeded is how many responses that users got from the candidate have to be
// compared, none of them differing, until at most the given share can differ, at
// the confidence of a comparison.
func ServedNeeded(most float64, c whittle.Comparison) int {
	return eprocess.NeededFor(most, alphaOf(c))
}
