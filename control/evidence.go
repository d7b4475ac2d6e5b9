package control

import (
	"slices"

	"whittle"
	"whittle/compare"
)

// NewJudge makes the judge of package compare.
func NewJudge(c whittle.Comparison) (Judge, error) {
	j, err := compare.NewJudge(c)
	if err != nil {
		return nil, err
	}
	return judge{j}, nil
}

// NewGuard makes the guard of package compare.
func NewGuard(g whittle.Guard) Guard { return compare.NewGuard(g) }

type judge struct{ *compare.Judge }

func (j judge) Observe(x *whittle.Exchange) (skip string, differs bool) {
	o := j.Judge.Observe(x)
	return o.Skip, o.Differs
}

// Verdict copies what belongs to the judge, because it is read long after the
// judge has gone on.
func (j judge) Verdict() whittle.Verdict {
	v := j.Judge.Verdict()
	v.Bounds = slices.Clone(v.Bounds)
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Samples = slices.Clone(v.Findings[i].Samples)
	}
	return v
}
