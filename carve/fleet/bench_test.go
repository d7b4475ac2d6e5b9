package fleet

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"whittle"
)

// BenchmarkLeader is what a leader spends on each report of a fleet's gateways, with its
// share of the permits that are dealt out meanwhile: a gateway reports four times a
// lease. bytes/report is what a report with ten routes is long.
func BenchmarkLeader(b *testing.B) {
	for _, gateways := range []int{1, 10, 30, 100, 1000} {
		b.Run(fmt.Sprint(gateways), func(b *testing.B) {
			at := Instant{Mono: time.Hour, Wall: time.Hour}
			c := Config{Member: "leader", Run: 1, Lease: 5 * time.Second}
			r := Report{Version: 1, Run: 1, Routes: map[string]RouteReport{}, Uses: map[string]Use{"http://candidate:8080": {Exposed: 2, Peak: 3}}}
			for i := range 10 {
				name := fmt.Sprintf("GET /orders/%d", i)
				c.Routes = append(c.Routes, Route{Name: name, Digest: "0123456789abcdef0123456789abcdef", Candidate: "http://candidate:8080", Exposure: 50})
				r.Routes[RouteKey(name)] = RouteReport{
					Digest: "0123456789abcdef0123456789abcdef", Generation: 20, Zero: 3, Share: 500, InForce: 500,
					Counts: whittle.Counts{Run: 1 << 60, Seq: 1000, Ledger: whittle.Ledger{
						Total: 1_000_000, Pending: 3, Skipped: map[string]int64{whittle.SkipSampled: 900_000, whittle.SkipServed: 10_000},
					}, At: time.Unix(1_800_000_000, 0)},
				}
			}
			n := New(c, at)
			n.Synced(at)
			n.lead = &term{number: 1, began: at, renewed: at, asked: at, seats: map[string]*Seat{}}
			size, i := 0, 0
			reports := make([]Entry, gateways)
			for g := range reports {
				r.Member = fmt.Sprintf("gateway-%d", g)
				reports[g].Key = memberKey(r.Member)
			}
			every := c.Lease / time.Duration(beats*gateways)
			for b.Loop() {
				g := i % gateways
				if g == 0 {
					b.StopTimer()
					r.Seq++
					for g := range reports {
						r.Member = fmt.Sprintf("gateway-%d", g)
						reports[g].Value, _ = json.Marshal(r)
					}
					size = len(reports[0].Value)
					b.StartTimer()
				}
				at.Mono += every
				at.Wall += every
				n.lead.renewed, n.lead.asked = n.now, n.now
				n.Saw(reports[g], at)
				n.tickGrants()
				for _, w := range n.Writes() {
					n.Wrote(w)
					if w.Key == kindGrants {
						n.Saw(Entry{Key: w.Key, Value: w.Value, Revision: uint64(i)}, at)
					}
				}
				i++
			}
			b.ReportMetric(float64(size), "bytes/report")
		})
	}
}
