package control

import (
	"cmp"

	"whittle"
	"whittle/carve/compare"
	"whittle/carve/compare/guard"
	"whittle/record/redact"
)

// NewJudge makes the judge of package compare. What it shows and keeps of
// exchanges is redacted; see Redacting.
func NewJudge(c whittle.Comparison) (Judge, error) { return Redacting(nil)(c) }

// Redacting makes judges of package compare that redact what they show and keep
// of exchanges. Nil: by the default rules, under a key of this process's own.
func Redacting(by compare.Redactor) func(whittle.Comparison) (Judge, error) {
	var broken error
	if by == nil {
		by, broken = redact.New(redact.Rules{}, redact.NewKey())
	}
	return func(c whittle.Comparison) (Judge, error) {
		j, err := compare.NewJudge(c)
		if err = cmp.Or(broken, err); err != nil {
			return nil, err
		}
		j.Redact(by)
		return j, nil
	}
}

// NewGuard makes the guard of package compare.
func NewGuard(g whittle.Guard) Guard { return guard.New(g) }
