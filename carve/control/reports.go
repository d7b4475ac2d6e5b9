package control

import "whittle/carve/account"

// origin says in whose ledger an exchange is: the gateway's name in the account, and its
// run, which is 0 for this process. place is the exchange's position in the fleet's
// stream; 0: it is in none.
type origin struct {
	gateway string
	run     uint64
	place   uint64
}

// gatewayOf names a gateway in the account: that of this process, or by its run one that
// was replaced by it.
func gatewayOf(run uint64) string {
	if run == 0 {
		return account.Local
	}
	return account.Replaced(run)
}

// reports is how far the gateways' reports of a route have come.
type reports struct {
	total, pending int64
	silent         int
}

func (c *Controller) reportsOf(route string) (sum reports) {
	if c.o.Fleet != nil {
		for _, r := range c.o.Fleet.Reports(route) {
			sum.total += r.Counts.Ledger.Total
			sum.pending += r.Counts.Ledger.Pending
			if r.Silent {
				sum.silent++
			}
		}
		return sum
	}
	l := c.o.Counts(route).Ledger
	sum = reports{total: l.Total, pending: l.Pending}
	for _, other := range c.o.Others(route) {
		sum.total += other.Ledger.Total
		sum.pending += other.Ledger.Pending
	}
	return sum
}

// takeReports takes the gateways' reports. The caller holds the evidence's lock.
func (r *route) takeReports() {
	defer r.ev.countUncompared()
	if f := r.c.o.Fleet; f != nil {
		r.takeFleet(f.Reports(r.name))
		return
	}
	r.ev.account.Take(account.Local, r.c.o.Counts(r.name))
	for _, other := range r.c.o.Others(r.name) {
		r.ev.account.Take(gatewayOf(other.Run), other)
	}
}

// takeFleet takes the reports of a fleet's gateways, of each in the order of its runs.
func (r *route) takeFleet(all []Report) {
	there, heard, replaced := map[string]bool{}, map[string]bool{}, map[string][]uint64{}
	for _, report := range all {
		there[report.Gateway], heard[report.Gateway] = true, !report.Silent
		if report.Replaced {
			r.ev.account.TakeReplaced(report.Gateway, report.Counts)
			replaced[report.Gateway] = append(replaced[report.Gateway], report.Counts.Run)
			continue
		}
		r.ev.account.Take(report.Gateway, report.Counts)
	}
	for gateway := range there {
		r.ev.account.EndReplaced(gateway, replaced[gateway])
	}
	if len(there) > 0 {
		r.ev.account.Heard(heard)
		r.ev.account.Forget(there, r.c.o.Now())
	}
}
