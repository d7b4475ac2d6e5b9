package control

import "whittle/carve/account"

// reports is how far the gateways' reports of a route have come.
type reports struct {
	total, pending int64
	silent         int
}

func (c *Controller) reportsOf(route string) (sum reports) {
	if c.o.Fleet == nil {
		l := c.o.Counts(route).Ledger
		return reports{total: l.Total, pending: l.Pending}
	}
	for _, r := range c.o.Fleet.Reports(route) {
		sum.total += r.Counts.Ledger.Total
		sum.pending += r.Counts.Ledger.Pending
		if r.Silent {
			sum.silent++
		}
	}
	return sum
}

// takeReports takes the gateways' reports. The caller holds the evidence's lock.
func (r *route) takeReports() {
	if f := r.c.o.Fleet; f != nil {
		r.takeFleet(f.Reports(r.name))
	} else {
		r.ev.account.Take(account.Local, r.c.o.Counts(r.name))
	}
	r.ev.countUncompared()
}

// takeFleet takes the reports of a fleet's gateways, of each in the order of its runs.
func (r *route) takeFleet(all []Report) {
	heard := map[string]bool{} // by gateway: whether it was of late
	for _, report := range all {
		heard[report.Gateway] = !report.Silent
		r.ev.account.Take(report.Gateway, report.Counts)
	}
	if len(all) > 0 {
		r.ev.account.Heard(heard)
		r.ev.account.Forget(heard, r.c.o.Now())
	}
}
