package compare

import (
	"encoding/json"
	"slices"

	"whittle"
	"whittle/carve/compare/display"
	"whittle/carve/compare/distribution"
	"whittle/carve/compare/eprocess"
)

// random compares responses whose numbers are random: numbers by distribution, and what stands around
// them as places, by direction and repeats.
type random struct {
	*distribution.Method
	around    *match
	anyNumber bool             // compare.value is no path to a number
	now       whittle.Exchange // scratch of textsOf
	again     whittle.Response
}

// newRandom makes the method of the kind statistical, which spends alpha.
func newRandom(c whittle.Comparison, alpha float64, show *display.View) (*random, error) {
	numbers, err := distribution.New(c, alpha, show)
	if err != nil {
		return nil, err
	}
	number := distribution.NumberPath(&c)
	texts := whittle.Comparison{
		Kind: whittle.JSON, Confidence: c.Confidence, MinCompared: c.MinCompared, MaxDiffer: max(c.MaxDiffer, distribution.Limit),
		Ignore: c.Ignore, Expect: c.Expect,
	}
	if number != "" {
		texts.Ignore = append(slices.Clone(c.Ignore), number)
	}
	around, err := newMatch(texts, show, whittle.FoundField, whittle.FoundBody)
	if err != nil {
		return nil, err
	}
	around.direct, around.alpha, around.places = true, alpha*eprocess.OfRandom, 1
	return &random{Method: numbers, around: around, anyNumber: number == ""}, nil
}

// Observe implements method.
func (r *random) Observe(x *whittle.Exchange) Observation {
	o, unread := r.Method.Observe(x)
	if unread {
		return o
	}
	r.around.show.Whole(x)
	texts := r.around.Observe(r.textsOf(x))
	r.around.show.Whole(nil)
	if o.Skip == "" {
		o.Ask = texts.Differs
		o.Differs = o.Differs || texts.Differs
	}
	return o
}

// textsOf is an exchange with the texts around its numbers, until the next call; without bodies where
// they are the same.
func (r *random) textsOf(x *whittle.Exchange) *whittle.Exchange {
	r.now = *x
	y := &r.now
	r.readBy(&x.Monolith, &x.Candidate)
	if x.Repeat == nil && r.SameAround(x.Monolith.Body, x.Candidate.Body) {
		y.Monolith.Body, y.Candidate.Body = nil, nil
		return y
	}
	y.Monolith.Body, y.Candidate.Body = r.Around(&x.Monolith), r.Around(&x.Candidate)
	if x.Repeat != nil {
		r.again = *x.Repeat
		r.again.Body = r.Around(x.Repeat)
		y.Repeat = &r.again
	}
	return y
}

// readBy leaves out all numbers of JSON where compare.value may be any of them. Texts have signs instead.
func (r *random) readBy(a, b *whittle.Response) {
	r.around.differ.AnyNumber = r.anyNumber && r.IsJSON(a) && r.IsJSON(b)
}

// Report implements method.
func (r *random) Report(alpha float64) ([]whittle.Finding, []whittle.Bound) {
	findings, bounds := r.Method.Report(alpha)
	around, further := r.around.doubts(alpha)
	for _, f := range around {
		if f.Path == "$" {
			f.Kind, f.Path = whittle.FoundBody, ""
		}
		f.Summary = "around the number: " + f.Summary
		findings = append(findings, f)
	}
	return findings, append(bounds, further...)
}

// Open implements method: the series counts these itself.
func (r *random) Open() int { return 0 }

// Places implements method.
func (r *random) Places(a, b *whittle.Response) (list, rare []string) {
	x, y := *a, *b
	r.readBy(a, b)
	x.Body, y.Body = r.Around(a), r.Around(b)
	return r.around.Places(&x, &y)
}

// Varies implements method: nothing is learned of random responses.
func (r *random) Varies(_, _ *whittle.Response) {}

// ShowAgain implements method.
func (r *random) ShowAgain() {
	r.Method.ShowAgain()
	r.around.ShowAgain()
}

// keptRandom is the state of random responses as it is written and read. The state of numbers is
// encoded, since a number may look like a secret, such as a card's, and is no text then.
type keptRandom struct {
	Numbers []byte `json:"numbers"`
	Around  *match `json:"around"`
}

// MarshalJSON implements method.
func (r *random) MarshalJSON() ([]byte, error) {
	numbers, err := json.Marshal(r.Method)
	if err != nil {
		return nil, err
	}
	return encoded(&keptRandom{numbers, r.around})
}

// UnmarshalJSON implements method.
func (r *random) UnmarshalJSON(b []byte) error {
	k := keptRandom{Around: r.around}
	if err := json.Unmarshal(b, &k); err != nil {
		return err
	}
	return json.Unmarshal(k.Numbers, r.Method)
}
