package control

import "whittle/carve/account"

// gatewayOf names a gateway in the account: this process's, or by its run one that it
// has replaced.
func gatewayOf(run uint64) string {
	if run == 0 {
		return account.Local
	}
	return account.Replaced(run)
}

// reports is how far the gateways' reports of a route have come.
type reports struct{ total, pending int64 }

func (c *Controller) reportsOf(route string) reports {
	l := c.o.Counts(route).Ledger
	sum := reports{l.Total, l.Pending}
	for _, other := range c.o.Others(route) {
		sum.total += other.Ledger.Total
		sum.pending += other.Ledger.Pending
	}
	return sum
}

// takeReports takes the gateways' reports. The caller holds the evidence's lock.
func (r *route) takeReports() {
	r.ev.account.Take(account.Local, r.c.o.Counts(r.name))
	for _, other := range r.c.o.Others(r.name) {
		r.ev.account.Take(gatewayOf(other.Run), other)
	}
}
