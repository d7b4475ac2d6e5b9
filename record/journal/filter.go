package journal

import (
	"slices"

	"whittle/record/capture"
)

func (f *Filter) entry(e *capture.Entry) bool {
	return (f.Route == "" || e.Route == f.Route) &&
		(f.From.IsZero() || !e.At.Before(f.From)) &&
		(f.To.IsZero() || e.At.Before(f.To))
}

// times reports whether a block may contain entries within the bounds.
func (f *Filter) times(h *capture.Header) bool {
	return (f.From.IsZero() || !h.Last().Before(f.From)) &&
		(f.To.IsZero() || h.First().Before(f.To))
}

// rows reports whether a block contains entries of the route.
func (f *Filter) rows(rows []capture.Row) bool {
	return f.Route == "" || slices.ContainsFunc(rows, func(r capture.Row) bool { return r.Route == f.Route })
}

// maxDamages bounds the list of damages; reading goes on beyond it.
const maxDamages = 1000

// damages lists damages one by one up to the bound, and counts the others.
type damages struct{ all []Damage }

func (d *damages) add(one Damage) {
	if len(d.all) < maxDamages {
		d.all = append(d.all, one)
		return
	}
	last := &d.all[maxDamages-1]
	last.Bytes += one.Bytes
	last.Why = "this and more damage from here on"
}
