package control

import (
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
